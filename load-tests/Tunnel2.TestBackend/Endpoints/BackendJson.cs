using System.Text.Json.Serialization;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>The JSON that the backend answers.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(SinkResult))]
[JsonSerializable(typeof(List<UploadedPart>))]
[JsonSerializable(typeof(List<string[]>))]
internal sealed partial class BackendJson : JsonSerializerContext;

/// <summary>What a sink read.</summary>
internal sealed record SinkResult(long Bytes, string? Sha256);

/// <summary>One part of a multipart body.</summary>
internal sealed record UploadedPart(string? Name, string? Filename, string? ContentType, long Size, string Sha256);
