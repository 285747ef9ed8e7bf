using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// What one method of one path does. The table of all is what requests are matched with, and what the document is made of. Immutable.
/// </summary>
internal sealed record ApiOperation
{
    private readonly string[] _segments = [];

    /// <summary>The operation's name in the document.</summary>
    public required string Id { get; init; }

    /// <summary>The method in upper case.</summary>
    public required string Method { get; init; }

    /// <summary>The path, in which <c>{name}</c> is any one segment.</summary>
    public required string Path
    {
        get;
        init
        {
            field = value;
            _segments = value.Split('/');
        }
    }

    /// <summary>One line for the document.</summary>
    public required string Summary { get; init; }

    /// <summary>The status where all went well.</summary>
    public int Status { get; init; } = StatusCodes.Status200OK;

    /// <summary>The type of the request's body; null where there must be none.</summary>
    public Type? Body { get; init; }

    /// <summary>
    /// The largest body, in bytes, that the operation reads by itself, because its form is not that of the API's documents; 0: none. Then
    /// <see cref="Body"/> is null, and the call has the bytes.
    /// </summary>
    public int OwnBody { get; init; }

    /// <summary>Whether such a body may be missing.</summary>
    public bool MayLackBody { get; init; }

    /// <summary>What such a body is, for the document.</summary>
    public string OwnBodyWords { get; init; } = "";

    /// <summary>The type of the answer's body; null for none.</summary>
    public Type? Answer { get; init; }

    /// <summary>The type of what the inspector answers in place of it, with 'inspected=true'; null: that is unknown here.</summary>
    public Type? InspectorsAnswer { get; init; }

    /// <summary>What the answer has, for the document, where <see cref="RunAsync"/> is null.</summary>
    public string AnswerWords { get; init; } = "";

    /// <summary>The media type of the answer.</summary>
    public string AnswerType { get; init; } = "application/json";

    /// <summary>The parameters of the query; any other is refused.</summary>
    public IReadOnlyList<ApiParameter> Query { get; init; } = [];

    /// <summary>The statuses of its own problems, for the document.</summary>
    public IReadOnlyList<int> Problems { get; init; } = [];

    /// <summary>Carries it out, on the pool; null: the inspector does, with answers and errors of its own.</summary>
    public required Func<ApiCall, ValueTask<ApiAnswer>>? RunAsync { get; init; }

    /// <summary>
    /// Which nodes of a cluster it asks; nodes take calls of each other for every value except <see cref="OperationSpread.Here"/>.
    /// </summary>
    public OperationSpread Spread { get; init; }

    /// <summary>What the document calls the group of operations: the first word of the path.</summary>
    public string Group => _segments[3];

    /// <summary>The names of the path's own parameters.</summary>
    public IEnumerable<string> PathParameters => _segments.Where(IsParameter).Select(static segment => segment[1..^1]);

    /// <summary>Whether a path is this one.</summary>
    /// <param name="path">The segments of the path, the first of which is empty.</param>
    /// <param name="value">What the path has in place of its last parameter; of those that run here none has two.</param>
    public bool Matches(string[] path, out string value)
    {
        value = "";
        if (path.Length != _segments.Length)
        {
            return false;
        }

        for (var i = 0; i < path.Length; i++)
        {
            if (!IsParameter(_segments[i]))
            {
                if (path[i] != _segments[i])
                {
                    return false;
                }
            }
            else if (path[i].Length == 0)
            {
                return false;
            }
            else
            {
                value = path[i];
            }
        }

        return true;
    }

    /// <summary>What is wrong with the names of a query's parameters; null: nothing.</summary>
    public string? MistakeOf(IQueryCollection query)
    {
        foreach (var (name, values) in query)
        {
            if (!Query.Any(parameter => parameter.Name == name) || values.Count != 1)
            {
                return $"The parameter '{PlainText.Clean(name, ApiEndpoints.MaxShown)}' is unknown here, or is given more than once.";
            }
        }

        return null;
    }

    private static bool IsParameter(string segment) => segment is ['{', .., '}'];
}
