using System.Text.Json.Serialization;

namespace Tunnel2.ProxyEntry.Api.Documents;

/// <summary>Generated when the program is built.</summary>
[JsonSourceGenerationOptions(GenerationMode = JsonSourceGenerationMode.Metadata)]
[JsonSerializable(typeof(AgentList))]
[JsonSerializable(typeof(CertificateList))]
[JsonSerializable(typeof(CreateToken))]
[JsonSerializable(typeof(HealthInfo))]
[JsonSerializable(typeof(InspectedList))]
[JsonSerializable(typeof(NewToken))]
[JsonSerializable(typeof(PolicyDocument))]
[JsonSerializable(typeof(PolicyList))]
[JsonSerializable(typeof(Problem))]
[JsonSerializable(typeof(RenewalRequest))]
[JsonSerializable(typeof(RequestList))]
[JsonSerializable(typeof(RevokedToken))]
[JsonSerializable(typeof(SessionInfo))]
[JsonSerializable(typeof(SessionPage))]
[JsonSerializable(typeof(TokenInfo))]
[JsonSerializable(typeof(TokenList))]
internal sealed partial class ApiJsonContext : JsonSerializerContext;
