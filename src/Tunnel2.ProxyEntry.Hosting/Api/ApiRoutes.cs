using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>The table of all operations. Immutable.</summary>
internal sealed class ApiRoutes
{
    /// <summary>The begin of every path.</summary>
    public const string Root = "/api/v1";

    /// <summary>Where the document is.</summary>
    public const string DocumentPath = Root + "/openapi.json";

    private const string Get = "GET";
    private const string Post = "POST";
    private const string Put = "PUT";
    private const string Delete = "DELETE";

    private static readonly ApiParameter _limit = new("limit", "integer", "How many at most.");

    private static readonly ApiParameter _node = new("node", "string", "In a cluster: only what this node has.");

    private static readonly ApiParameter _session = new(
        "session", "string", "The id of the session, where several agents share the name: without it such a name is a conflict.");

    private readonly Lazy<ReadOnlyMemory<byte>> _document;

    public ApiRoutes(
        HealthApi health,
        SessionsApi sessions,
        RequestsApi requests,
        CertificatesApi certificates,
        AgentsApi agents,
        TokensApi tokens,
        PoliciesApi policies)
    {
        All =
        [
            new()
            {
                Id = "getDocument",
                Method = Get,
                Path = DocumentPath,
                Summary = "This document.",
                RunAsync = _ => ValueTask.FromResult(ApiAnswer.OfJson(_document!.Value)),
            },
            new()
            {
                Id = "getHealth",
                Method = Get,
                Path = Root + "/health",
                Summary = "How the server is. The status is 200 with any answer; probes ask /health/ready.",
                Answer = typeof(HealthInfo),
                RunAsync = health.GetAsync,
            },
            new()
            {
                Id = "listSessions",
                Method = Get,
                Path = Root + "/sessions",
                Summary = "Sessions in the order of their names.",
                Query =
                [
                    _limit,
                    new("after", "string", "The name after which the page begins: 'next' of the page before."),
                    new("name", "string", "A name, or a pattern with *."),
                    new("agent", "string", "The id of an agent."),
                    _node,
                    new("inspected", "boolean", "With 'true' alone: the sessions that are inspected, as the inspector's page shows them."),
                ],
                Answer = typeof(SessionPage),
                InspectorsAnswer = typeof(InspectedList),
                Problems = [StatusCodes.Status400BadRequest],
                Spread = OperationSpread.SessionList,
                RunAsync = sessions.ListAsync,
            },
            new()
            {
                Id = "getSession",
                Method = Get,
                Path = Root + "/sessions/{name}",
                Summary = "One session.",
                Query = [_session, _node],
                Answer = typeof(SessionInfo),
                Problems = [StatusCodes.Status404NotFound, StatusCodes.Status409Conflict],
                Spread = OperationSpread.Session,
                RunAsync = sessions.GetAsync,
            },
            new()
            {
                Id = "endSession",
                Method = Delete,
                Path = Root + "/sessions/{name}",
                Summary = "Ends a session at once: requests under way are cut. Its agent may connect again.",
                Query = [_session, _node],
                Status = StatusCodes.Status204NoContent,
                Problems = [StatusCodes.Status404NotFound, StatusCodes.Status409Conflict],
                Spread = OperationSpread.Session,
                RunAsync = sessions.KickAsync,
            },
            new()
            {
                Id = "drainSession",
                Method = Put,
                Path = Root + "/sessions/{name}/drain",
                Summary = "Gives a session no new requests; it ends after its last one. Its agent may connect again.",
                Query = [_session, _node],
                Status = StatusCodes.Status202Accepted,
                Answer = typeof(SessionInfo),
                Problems = [StatusCodes.Status404NotFound, StatusCodes.Status409Conflict],
                Spread = OperationSpread.Session,
                RunAsync = sessions.DrainAsync,
            },
            new()
            {
                Id = "listRequests",
                Method = Get,
                Path = Root + "/sessions/{name}/requests",
                Summary = "The last requests of a session that the live view still has, the newest first.",
                Query = [_limit, _node],
                Answer = typeof(RequestList),
                Problems =
                [
                    StatusCodes.Status400BadRequest, StatusCodes.Status404NotFound, StatusCodes.Status503ServiceUnavailable,
                ],
                Spread = OperationSpread.RequestList,
                RunAsync = requests.ListAsync,
            },
            new()
            {
                Id = "listCertificates",
                Method = Get,
                Path = Root + "/certificates",
                Summary = "The certificates in use, the first to end first.",
                Answer = typeof(CertificateList),
                RunAsync = certificates.ListAsync,
            },
            new()
            {
                Id = "renewCertificate",
                Method = Put,
                Path = Root + "/certificates/{name}/renewal",
                Summary = "Orders a new certificate for a name of Acme:Names, or for one that has one from the authority.",
                Status = StatusCodes.Status202Accepted,
                Answer = typeof(RenewalRequest),
                Problems =
                [
                    StatusCodes.Status404NotFound, StatusCodes.Status409Conflict, StatusCodes.Status503ServiceUnavailable,
                ],
                RunAsync = certificates.RenewAsync,
            },
            new()
            {
                Id = "listAgents",
                Method = Get,
                Path = Root + "/agents",
                Summary = "The agents that may connect with a token or a certificate.",
                Answer = typeof(AgentList),
                RunAsync = agents.ListAsync,
            },
            new()
            {
                Id = "listTokens",
                Method = Get,
                Path = Root + "/tokens",
                Summary = "The tokens that the server keeps. Those of the settings are not among them.",
                Answer = typeof(TokenList),
                RunAsync = tokens.ListAsync,
            },
            new()
            {
                Id = "createToken",
                Method = Post,
                Path = Root + "/tokens",
                Summary = "Makes a token, which is in force at once. The answer shows it this once.",
                Status = StatusCodes.Status201Created,
                Body = typeof(CreateToken),
                Answer = typeof(NewToken),
                Problems =
                [
                    StatusCodes.Status400BadRequest, StatusCodes.Status409Conflict, StatusCodes.Status413PayloadTooLarge,
                    StatusCodes.Status415UnsupportedMediaType, StatusCodes.Status503ServiceUnavailable,
                ],
                RunAsync = tokens.CreateAsync,
            },
            new()
            {
                Id = "getToken",
                Method = Get,
                Path = Root + "/tokens/{name}",
                Summary = "One token.",
                Answer = typeof(TokenInfo),
                Problems = [StatusCodes.Status404NotFound],
                RunAsync = tokens.GetAsync,
            },
            new()
            {
                Id = "revokeToken",
                Method = Delete,
                Path = Root + "/tokens/{name}",
                Summary = "Revokes a token: it lets no agent in from now on, and its sessions end.",
                Answer = typeof(RevokedToken),
                Problems = [StatusCodes.Status404NotFound, StatusCodes.Status503ServiceUnavailable],
                RunAsync = tokens.RevokeAsync,
            },
            .. PolicyRoutes.Of(policies),
            .. InspectorRoutes.All,
        ];
        _document = new Lazy<ReadOnlyMemory<byte>>(() => OpenApiDocument.Write(All, HealthApi.Version));
    }

    /// <summary>The operation of a method and a path, which is that of GET for HEAD; null: there is none.</summary>
    public ApiOperation? Find(string method, string[] path)
    {
        var wanted = HttpMethods.IsHead(method) ? Get : method;
        return All.FirstOrDefault(operation => operation.Method == wanted && operation.Matches(path, out _));
    }

    /// <summary>All operations.</summary>
    public IReadOnlyList<ApiOperation> All { get; }
}
