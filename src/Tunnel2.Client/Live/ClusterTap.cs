using System.Globalization;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>
/// Runs <c>tunnel2 tap --cluster</c>: the requests of all nodes, from the hub of one (docs/live.md). A server that is no node gives its
/// own. Not thread-safe.
/// </summary>
internal sealed class ClusterTap(TopOptions options, TapSink sink, TextWriter error, TimeProvider time)
{
    /// <summary>
    /// Requests that are remembered: a node sends its last ones again when a viewer begins to look, or when its feed was interrupted.
    /// </summary>
    private const int Remembered = 64 * 1024;

    /// <summary>Nodes whose state is remembered; a server shows no more.</summary>
    private const int MostNodes = 64;

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _shortestDelay = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan _longestDelay = TimeSpan.FromSeconds(5);

    private readonly HashSet<(string? Node, long Sequence, long Started)> _seen = [];
    private readonly Queue<(string? Node, long Sequence, long Started)> _order = new();
    private readonly Dictionary<string, (string State, long Skipped)> _nodes = new(StringComparer.Ordinal);
    private readonly byte[] _payload = new byte[4096];
    private long _sequence;
    private bool _isCluster;

    /// <summary>Follows until <paramref name="stop"/>, and connects again when a connection is lost.</summary>
    /// <returns>The exit code.</returns>
    public async Task<int> RunAsync(CancellationToken stop)
    {
        error.WriteLine($"tunnel2: following the cluster of {PlainText.Clean(options.Server)}; Ctrl+C ends");
        TimeSpan delay = _shortestDelay;
        while (!stop.IsCancellationRequested)
        {
            using var connection = new HubConnection();
            string problem;
            bool isFinal = false;
            try
            {
                await BeginAsync(connection, stop);
                delay = _shortestDelay;
                while (await connection.ReceiveAsync(stop) is { } message)
                {
                    Apply(message);
                    sink.Flush();
                }

                problem = connection.DescribeClose();
            }
            catch (Exception exception) when (exception is WebSocketException or OperationCanceledException or InvalidDataException)
            {
                if (stop.IsCancellationRequested)
                {
                    break;
                }

                problem = exception switch
                {
                    OperationCanceledException => $"no answer within {_patience.TotalSeconds:0} s",
                    InvalidDataException => exception.Message,
                    _ => connection.Describe(exception, options.Token is not null, out isFinal),
                };
            }

            problem = $"tunnel2: {PlainText.Clean(options.Server)}: {PlainText.Clean(problem)}";
            if (isFinal)
            {
                error.WriteLine(problem);
                return AgentExitCode.Rejected;
            }

            error.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{problem}; trying again in {delay.TotalSeconds:0.0} s"));
            await Task.Delay(delay, time, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            delay = delay * 2 < _longestDelay ? delay * 2 : _longestDelay;
        }

        return AgentExitCode.Stopped;
    }

    /// <summary>Applies a message of the hub.</summary>
    /// <returns>Its type, such as <c>pong</c>.</returns>
    /// <exception cref="InvalidDataException">It is not a message of the hub.</exception>
    internal string Apply(ReadOnlyMemory<byte> message)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(message);
            JsonElement root = document.RootElement;
            string type = root.GetProperty("type").GetString() ?? "";
            switch (type)
            {
                case "snapshot":
                    foreach (JsonElement one in root.GetProperty("messages").EnumerateArray())
                    {
                        Take(root.GetProperty("channel").GetString()!, one.GetProperty("data"));
                    }

                    break;
                case "message":
                    Take(root.GetProperty("channel").GetString()!, root.GetProperty("data"));
                    break;
                case "gap":
                    sink.OnLost(null, root.GetProperty("dropped").GetInt64());
                    break;
                case "paused":
                    error.WriteLine("tunnel2: paused: the server is short of memory or processors, and this connection is slow");
                    break;
                case "error":
                    throw new InvalidDataException(
                        $"the server refused a subscription: {PlainText.Clean(root.GetProperty("code").GetString()!)}");
            }

            return type;
        }
        catch (Exception exception)
            when (exception is JsonException or KeyNotFoundException or OverflowException or InvalidOperationException or FormatException
                or NullReferenceException)
        {
            throw new InvalidDataException("the server said something that this version does not understand", exception);
        }
    }

    private async Task BeginAsync(HubConnection connection, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        await connection.ConnectAsync(options, time, either.Token);
        _isCluster = false;
        _nodes.Clear();

        // The hub answers in order: after its answer to the ping it has said whether it is a node.
        await connection.SendAsync("""{"op":"subscribe","channel":"cluster.info"}""", either.Token);
        await connection.SendAsync("""{"op":"ping"}""", either.Token);
        string type;
        do
        {
            type = Apply(await connection.ReceiveAsync(either.Token) ?? throw new InvalidDataException(connection.DescribeClose()));
        }
        while (type != "pong");

        foreach (string channel in (string[])(_isCluster ? ["cluster.nodes", "at.*.node.requests"] : ["node.requests"]))
        {
            await connection.SendAsync($$"""{"op":"subscribe","channel":"{{channel}}"}""", either.Token);
        }
    }

    private void Take(string channel, JsonElement data)
    {
        switch (channel.Split('.'))
        {
            case ["cluster", "info"]:
                _isCluster = true;
                break;
            case ["cluster", "nodes"]:
                TakeNode(data);
                break;
            case ["at", var node, "node", "requests"]:
                TakeRequests(PlainText.Clean(node), data);
                break;
            case ["node", "requests"]:
                TakeRequests(null, data);
                break;
        }
    }

    /// <summary>Says when a node is lost or back, and when messages of it were left out.</summary>
    private void TakeNode(JsonElement data)
    {
        string node = PlainText.Clean(data.GetProperty("node").GetString()!);
        string state = PlainText.Clean(data.GetProperty("state").GetString()!);
        long skipped = data.GetProperty("skipped").GetInt64();
        bool isKnown = _nodes.TryGetValue(node, out (string State, long Skipped) before);
        if (!isKnown && _nodes.Count == MostNodes)
        {
            return;
        }

        _nodes[node] = (state, skipped);
        if (state != before.State && (state is "lost" or "older" || before.State is "lost" or "older"))
        {
            error.WriteLine(state == "older"
                ? $"tunnel2: node {node}: no live view (older release)"
                : $"tunnel2: node {node}: {state}");
        }

        if (isKnown && skipped > before.Skipped)
        {
            sink.OnLost(node, skipped - before.Skipped);
        }
    }

    private void TakeRequests(string? node, JsonElement data)
    {
        sink.Node = node;
        (int all, int known) = (0, 0);
        foreach (JsonElement request in data.GetProperty("requests").EnumerateArray())
        {
            all++;
            known += TakeRequest(node, request) ? 0 : 1;
        }

        // What comes for the second time was counted the first time.
        bool isRepeated = all > 0 && known == all;
        if (!isRepeated && data.TryGetProperty("skipped", out JsonElement skipped) && skipped.GetInt64() is > 0 and var count)
        {
            sink.OnGap(new RingGap(_sequence, count, RingGapReason.SkippedAsStale));
            _sequence += count;
        }
    }

    /// <returns>False: it came before.</returns>
    private bool TakeRequest(string? node, JsonElement data)
    {
        ulong session = ulong.Parse(
            data.GetProperty("sessionId").GetString()!, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
        long started = data.GetProperty("startedUs").GetInt64();
        var record = new RequestRecord
        {
            SessionName = Encoding.Latin1.GetBytes(data.GetProperty("session").GetString()!),
            Target = Encoding.Latin1.GetBytes(data.GetProperty("target").GetString()!),
            Method = RequestMethods.Parse(Encoding.Latin1.GetBytes(data.GetProperty("method").GetString()!)),
            Status = data.GetProperty("status").GetUInt16(),
            ErrorCode = data.TryGetProperty("error", out JsonElement code)
                ? RequestErrorCodes.Number(code.GetString()!)
                : RequestErrorCodes.None,
            FailedAt = data.TryGetProperty("failedAt", out JsonElement failedAt) ? Encoding.Latin1.GetBytes(failedAt.GetString()!) : [],
            StartedUnixMicroseconds = started,
            QueueMicroseconds = data.GetProperty("queueUs").GetUInt32(),
            FirstByteMicroseconds = data.GetProperty("firstByteUs").GetUInt32(),
            BodyMicroseconds = data.GetProperty("bodyUs").GetUInt32(),
            TotalMicroseconds = data.GetProperty("totalUs").GetUInt32(),
            BytesIn = data.GetProperty("bytesIn").GetUInt64(),
            BytesOut = data.GetProperty("bytesOut").GetUInt64(),
            SessionId = session,
            UplinkId = data.GetProperty("uplink").GetUInt16(),
            StreamId = data.GetProperty("stream").GetUInt32(),
            Flags = FlagOf(data, "targetTruncated", RequestFlags.TargetTruncated) | FlagOf(data, "upgraded", RequestFlags.Upgraded)
                | FlagOf(data, "open", RequestFlags.Interim),
        };
        if (!IsNew((node, data.GetProperty("sequence").GetInt64(), started)))
        {
            return false;
        }

        int length = RequestRecordCodec.Encode(_payload, record);
        if (length > 0)
        {
            sink.OnRecord(_sequence++, (ushort)RecordType.Request, _payload.AsSpan(0, length));
        }

        return true;
    }

    private bool IsNew((string? Node, long Sequence, long Started) request)
    {
        if (!_seen.Add(request))
        {
            return false;
        }

        _order.Enqueue(request);
        if (_order.Count > Remembered)
        {
            _seen.Remove(_order.Dequeue());
        }

        return true;
    }

    private static RequestFlags FlagOf(JsonElement data, string member, RequestFlags flag) =>
        data.TryGetProperty(member, out _) ? flag : RequestFlags.None;
}
