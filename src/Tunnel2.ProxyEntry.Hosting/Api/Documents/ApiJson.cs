using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>The JSON of the API's documents. The types are known when the program is built. Immutable.</summary>
internal static class ApiJson
{
    private const int MaxDepth = 8;

    /// <summary>For answers, at the server and at its commands: a reader leaves out what it does not know.</summary>
    public static JsonSerializerOptions Answers { get; } = Make(JsonUnmappedMemberHandling.Skip);

    /// <summary>For requests: a field that is unknown or given twice is a mistake.</summary>
    public static JsonSerializerOptions Requests { get; } = Make(JsonUnmappedMemberHandling.Disallow);

    /// <summary>How an answer of this type is written and read. Named by its type, so that the program can be trimmed.</summary>
    public static JsonTypeInfo<T> Answer<T>() => (JsonTypeInfo<T>)Answers.GetTypeInfo(typeof(T));

    private static JsonSerializerOptions Make(JsonUnmappedMemberHandling unknown)
    {
        var options = new JsonSerializerOptions
        {
            TypeInfoResolver = ApiJsonContext.Default,
            PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
            DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
            UnmappedMemberHandling = unknown,
            AllowDuplicateProperties = unknown == JsonUnmappedMemberHandling.Skip,
            RespectNullableAnnotations = true,
            MaxDepth = MaxDepth,
        };
        options.MakeReadOnly();
        return options;
    }
}
