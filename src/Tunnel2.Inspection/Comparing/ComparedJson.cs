using System.Text.Json.Serialization;

namespace Tunnel2.Inspection.Comparing;

/// <summary>Generated when the program is built.</summary>
[JsonSourceGenerationOptions(
    GenerationMode = JsonSourceGenerationMode.Metadata, RespectNullableAnnotations = true, RespectRequiredConstructorParameters = true)]
[JsonSerializable(typeof(ComparedExchange))]
internal sealed partial class ComparedJson : JsonSerializerContext;
