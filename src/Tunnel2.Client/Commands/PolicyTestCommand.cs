using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Policies.Paths;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Commands;

/// <summary><c>tunnel2 policy test</c>: walks a request through a policy and prints what each row does. It asks no server.</summary>
internal static class PolicyTestCommand
{
    private const int LongestTarget = 8 * 1024;

    /// <summary>Runs the command.</summary>
    /// <returns>0: the request reaches the service; 5: a row stops it; 2: a mistake.</returns>
    public static async Task<int> RunAsync(CommandConsole console)
    {
        if (console.Line.Argument is not { } path || console.Line["--request"] is not { } text)
        {
            return await console.MistakeAsync("'policy test' takes a file and a request: policy.json --request 'GET /admin'");
        }

        if (PolicyOptionsParser.TryReadFile(path, out byte[] bytes) is { } problem)
        {
            return await console.FailAsync(problem, AgentExitCode.InternalError);
        }

        PolicyReading reading = PolicyReader.Read(bytes);
        if (reading.Policy is not { } policy)
        {
            return await ReportAsync(console, path, reading.Mistakes);
        }

        if (TestRequest.TryRead(console, text, out TestRequest? request) is { } mistake)
        {
            return await console.MistakeAsync(mistake);
        }

        var walk = new List<(PolicyRow Row, PolicyCondition? Obstacle)>();
        foreach (PolicyRow row in policy.Rows)
        {
            PolicyCondition? obstacle = row.FindObstacle(request!);
            walk.Add((row, obstacle));
            if (obstacle is null && row.End != PolicyEnd.None)
            {
                break;
            }
        }

        // The server too judges the body's length after the walk: a row that ends it has the first word.
        bool isAnswered = walk[^1] is ({ End: > PolicyEnd.Allow }, null);
        request!.HasLargeBody = !isAnswered && walk.Any(step => step.Obstacle is null && step.Row.BodyLimit < request.BodyLength);
        bool isStopped = isAnswered || request.HasLargeBody;
        return console.IsJson
            ? await WriteJsonAsync(console, walk, request!, isStopped)
            : await WriteAsync(console, policy, walk, request!, isStopped);
    }

    private static async Task<int> ReportAsync(CommandConsole console, string path, IReadOnlyList<PolicyMistake> mistakes)
    {
        foreach (PolicyMistake mistake in mistakes)
        {
            await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean($"{path}: {mistake}", 2 * PlainText.MaxLength)}");
        }

        return AgentExitCode.Usage;
    }

    private static Task<int> WriteAsync(
        CommandConsole console, Policy policy, List<(PolicyRow Row, PolicyCondition? Obstacle)> walk, TestRequest request, bool isStopped)
    {
        var output = new StringBuilder();
        foreach ((PolicyRow row, PolicyCondition? obstacle) in walk)
        {
            output.Append(CultureInfo.InvariantCulture, $"row {row.Number}: ")
                .Append(PlainText.Clean(
                    obstacle is { } kind ? $"no match: {Describe(kind, row, request)}" : $"matches: {Describe(row, request)}",
                    2 * PlainText.MaxLength))
                .Append('\n');
        }

        if (walk.Count < policy.Rows.Length)
        {
            output.Append(walk.Count + 1 == policy.Rows.Length
                ? FormattableString.Invariant($"row {policy.Rows.Length}: not looked at\n")
                : FormattableString.Invariant($"rows {walk.Count + 1} to {policy.Rows.Length}: not looked at\n"));
        }

        output.Append(isStopped ? "The request does not reach the service.\n"
            : walk[^1] is ({ End: PolicyEnd.Allow }, null) ? "The request reaches the service: a row allows it.\n"
            : "The request reaches the service: no row stops it.\n");
        return console.WriteAsync(output.ToString(), isStopped ? AgentExitCode.No : AgentExitCode.Stopped);
    }

    private static Task<int> WriteJsonAsync(
        CommandConsole console, List<(PolicyRow Row, PolicyCondition? Obstacle)> walk, TestRequest request, bool isStopped) =>
        console.WriteJsonAsync(
            json =>
            {
                json.WriteBoolean("reachesService", !isStopped);
                json.WriteStartArray("rows");
                foreach ((PolicyRow row, PolicyCondition? obstacle) in walk)
                {
                    json.WriteStartObject();
                    json.WriteNumber("row", row.Number);
                    json.WriteBoolean("matches", obstacle is null);
                    json.WriteString("why", obstacle is { } kind ? Describe(kind, row, request) : Describe(row, request));
                    json.WriteEndObject();
                }

                json.WriteEndArray();
            },
            isStopped ? AgentExitCode.No : AgentExitCode.Stopped);

    /// <summary>What a row does with a request that it matches.</summary>
    private static string Describe(PolicyRow row, TestRequest request)
    {
        var does = new List<string>();
        switch (row.End)
        {
            case PolicyEnd.Allow:
                return "allow";
            case PolicyEnd.Deny:
                return "deny (403 policy-denied)";
            case PolicyEnd.Redirect:
                return FormattableString.Invariant($"redirect ({row.Redirect!.Status}) to {row.Redirect.LocationFor(request.Target)}");
            case PolicyEnd.Answer:
                return FormattableString.Invariant($"answer ({row.Answer!.Status}, {row.Answer.Type}, {row.Answer.Body.Length} bytes)");
            default:
                break;
        }

        does.AddRange(row.RequestEdits.Select(static edit => $"{Word(edit)} {edit.Name} of the request"));
        does.AddRange(row.ResponseEdits.Select(static edit => $"{Word(edit)} {edit.Name} of the response"));
        if (row.Rate is { } rate)
        {
            does.Add(FormattableString.Invariant($"at most {rate.Text}, {rate.Burst} at once, ")
                + (rate.Key == PolicyRateKey.Header ? $"for each {rate.Header}"
                    : rate.Key == PolicyRateKey.Address ? "for each address"
                    : "of all visitors together"));
        }

        if (row.BodyLimit is { } limit)
        {
            does.Add(FormattableString.Invariant($"a body of at most {limit} bytes")
                + (limit < request.BodyLength
                    ? FormattableString.Invariant($", and it has {request.BodyLength}")
                        + (request.HasLargeBody ? " (413 request-body-too-large)" : "")
                    : ""));
        }

        if (row.Timeout is { } timeout)
        {
            does.Add(FormattableString.Invariant($"the answer begins within {timeout.TotalSeconds} s"));
        }

        return string.Join("; ", does);
    }

    private static string Word(FieldEdit edit) => edit.Kind.ToString().ToLowerInvariant();

    /// <summary>Why a row does not match.</summary>
    private static string Describe(PolicyCondition kind, PolicyRow row, TestRequest request) => kind switch
    {
        PolicyCondition.Method => $"the method {request.MethodText} is not {Or(row.Match.Methods)}",
        PolicyCondition.Path when row.End == PolicyEnd.Allow && row.Match.Paths.Any(path => path.MatchesAny(request.Path)) =>
            $"the path is not {Or(row.Match.Paths)} in each way in which a service may read it, and 'allow' wants that",
        PolicyCondition.Path => $"the path {Encoding.Latin1.GetString(request.Path[0])} is not {Or(row.Match.Paths)}",
        PolicyCondition.Address => $"the address {request.Address?.ToString() ?? "(not known)"} is not in {Or(row.Match.Networks)}",
        PolicyCondition.Country => $"the country {request.Country ?? PolicyMatch.UnknownCountry} is not {Or(row.Match.Countries)}",
        _ => "the headers are not as it wants: " + string.Join(", ", row.Match.Headers.Select(static test => test.Name)),
    };

    private static string Or<T>(IEnumerable<T> values) => string.Join(" or ", values);

    /// <summary>The request of a command line.</summary>
    private sealed class TestRequest : PolicyRequest
    {
        private readonly RequestPath _path = new();
        private readonly List<(string Name, string Value)> _fields = [];
        private IPAddress? _address;
        private string? _country;

        private TestRequest(string method, string target)
        {
            MethodText = method;
            Target = target;
            _path.Read(Encoding.Latin1.GetBytes(target.Split('?')[0]));
        }

        public string MethodText { get; }

        public string Target { get; }

        public long BodyLength { get; private set; }

        /// <summary>Whether a row refuses its body, and no other row has answered before.</summary>
        public bool HasLargeBody { get; set; }

        public override ReadOnlySpan<byte> Method => Encoding.ASCII.GetBytes(MethodText);

        public override RequestPath Path => _path;

        public override IPAddress? Address => _address;

        public override string? Country => _country;

        public override string[] Values(string name, bool withLookalikes) =>
        [
            .. _fields
                .Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)
                    || (withLookalikes && FieldNames.AreAlike(name, field.Name)))
                .Select(static field => field.Value),
        ];

        /// <summary>Reads the request of a command line.</summary>
        /// <returns>What is wrong with it; null: nothing.</returns>
        public static string? TryRead(CommandConsole console, string text, out TestRequest? request)
        {
            request = null;
            int space = text.IndexOf(' ', StringComparison.Ordinal);
            string method = space < 0 ? "GET" : text[..space];
            string target = text[(space + 1)..].Trim();
            if (!FieldNames.IsToken(method) || !target.StartsWith('/') || target.Length > LongestTarget
                || target.Any(static c => c is <= ' ' or >= '\x7f' or '#') || target.Split('?')[0].Contains('\\', StringComparison.Ordinal))
            {
                return "--request: is not a method and a path, such as 'GET /admin'; write other characters as %XX";
            }

            var read = new TestRequest(method, target);
            foreach (string line in (console.Line["--header"] ?? "").Split('\n', StringSplitOptions.RemoveEmptyEntries))
            {
                int colon = line.IndexOf(':', StringComparison.Ordinal);
                if (colon < 0 || !FieldNames.IsToken(line[..colon]))
                {
                    return "--header: is not 'NAME: VALUE'";
                }

                read._fields.Add((line[..colon], line[(colon + 1)..].Trim()));
            }

            if (console.Line["--address"] is { } address && !AddressText.TryRead(address, out read._address!))
            {
                return "--address: is not an IP address";
            }

            read._country = console.Line["--country"]?.ToUpperInvariant();
            if (read._country is { } country && (country.Length != 2 || !country.All(char.IsAsciiLetter)))
            {
                return "--country: is not two letters";
            }

            if (console.Line["--body"] is { } body)
            {
                if (!long.TryParse(body, NumberStyles.None, CultureInfo.InvariantCulture, out long length))
                {
                    return "--body: is not a number of bytes";
                }

                read.BodyLength = length;
                if (read.Values("Content-Length", false).Length == 0 && read.Values("Transfer-Encoding", false).Length == 0)
                {
                    read._fields.Add(("Content-Length", body));
                }
            }

            read.LeaveOutListed();
            request = read;
            return null;
        }

        /// <summary>Fields of the visitor's connection alone are no part of the request that the server walks through the rows.</summary>
        private void LeaveOutListed()
        {
            var listed = Values("Connection", false).SelectMany(static value => value.Split(',', StringSplitOptions.TrimEntries))
                .ToHashSet(StringComparer.OrdinalIgnoreCase);
            _fields.RemoveAll(field => listed.Contains(field.Name) && FieldNames.MayBeOfConnection(field.Name));
        }
    }
}
