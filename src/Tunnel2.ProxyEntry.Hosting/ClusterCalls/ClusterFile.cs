using System.IO.Pipelines;
using System.Text.Json;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Cluster.Links;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Writes one HAR file of the exchanges of several nodes, the oldest first. One entry of each node is in memory, and a node sends the next
/// one when it was written. A node that is lost before its end cuts the file. Thread-safe.
/// </summary>
internal sealed class ClusterFile(ClusterNodes nodes, ApiAudit audit, TimeProvider time)
{
    /// <summary>The longest entry: bodies of a mebibyte each when decoded, and messages, escaped.</summary>
    private const int LongestLine = 32 * 1024 * 1024;

    private static readonly byte[] _comma = ","u8.ToArray();
    private static readonly byte[] _end = "]}}"u8.ToArray();

    /// <summary>Writes it as the answer.</summary>
    /// <param name="call">The call.</param>
    /// <param name="inspecting">The nodes that have some.</param>
    /// <param name="lost">Those that have not answered: the file says so.</param>
    public async Task WriteAsync(ClusterCall call, IReadOnlyList<string> inspecting, IReadOnlyList<string> lost)
    {
        using var late = new CancellationTokenSource(ClusterApi.HeadLimit, time);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(call.Left, late.Token);
        var parts = new List<Part>();
        var opening = "";
        try
        {
            foreach (var node in inspecting)
            {
                opening = node;
                if (await OpenAsync(call, node, end.Token).ConfigureAwait(false) is not { } part)
                {
                    await call.FailAsync(
                        StatusCodes.Status503ServiceUnavailable, "node-lost", $"Node {node} does not answer.").ConfigureAwait(false);
                    return;
                }

                parts.Add(part);
            }

            // What has begun may take as long as the caller takes for it.
            late.CancelAfter(Timeout.InfiniteTimeSpan);
            end.Token.ThrowIfCancellationRequested();
            await WriteAsync(call, parts, lost).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (late.IsCancellationRequested && !call.Left.IsCancellationRequested)
        {
            if (nodes.Find(opening) is { } location)
            {
                nodes.Failed(location, "timeout");
            }

            await call.FailAsync(
                StatusCodes.Status503ServiceUnavailable, "node-lost", $"Node {opening} does not answer in time.").ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or InvalidDataException or JsonException)
        {
            call.Http.Abort();
        }
        finally
        {
            await end.CancelAsync().ConfigureAwait(false);
            foreach (var part in parts)
            {
                await part.CloseAsync().ConfigureAwait(false);
            }
        }
    }

    private static async Task WriteAsync(ClusterCall call, List<Part> parts, IReadOnlyList<string> lost)
    {
        var response = call.Http.Response;
        response.StatusCode = StatusCodes.Status200OK;
        foreach (var (name, value) in PageFiles.Fields)
        {
            response.Headers[name] = value;
        }

        response.ContentType = InspectorResponse.Json;
        response.Headers.ContentDisposition = $"attachment; filename=\"{call.Session}.har\"";
        if (HttpMethods.IsHead(call.Http.Request.Method))
        {
            return;
        }

        var output = response.Body;
        await output.WriteAsync(Begin(lost), call.Left).ConfigureAwait(false);
        foreach (var part in parts)
        {
            await part.Entries.NextAsync(call.Left).ConfigureAwait(false);
        }

        for (var isFirst = true;
            parts.Select(static part => part.Entries).Where(static one => one.Line.Length > 0).MinBy(static one => one.Time) is { } next;
            isFirst = false)
        {
            if (!isFirst)
            {
                await output.WriteAsync(_comma, call.Left).ConfigureAwait(false);
            }

            // Who reads the file holds back the nodes.
            foreach (var piece in next.Line)
            {
                await output.WriteAsync(piece, call.Left).ConfigureAwait(false);
            }

            await next.NextAsync(call.Left).ConfigureAwait(false);
        }

        await output.WriteAsync(_end, call.Left).ConfigureAwait(false);
    }

    private static ReadOnlyMemory<byte> Begin(IReadOnlyList<string> lost)
    {
        var begin = ClusterLists.Write(json =>
        {
            json.WriteStartObject("log");
            json.WriteString("version", "1.2");
            json.WriteStartObject("creator");
            json.WriteString("name", "tunnel2");
            json.WriteString("version", HealthApi.Version);
            json.WriteEndObject();
            if (lost.Count > 0)
            {
                json.WriteString("comment", $"The exchanges of these nodes are missing, which do not answer: {string.Join(", ", lost)}");
            }

            json.WriteStartArray("pages");
            json.WriteEndArray();
            json.WriteStartArray("entries");
            json.WriteEndArray();
            json.WriteEndObject();
        });
        return begin[..^_end.Length];
    }

    private async Task<Part?> OpenAsync(ClusterCall call, string node, CancellationToken stop)
    {
        var target = call.Target(("lines", "1"));
        if (node == nodes.Self)
        {
            var pipe = new Pipe();
            var writing = WriteOwnAsync(call, target, pipe.Writer, stop);
            return new Part(pipe.Reader, writing, null, null);
        }

        if (nodes.Find(node) is not { } location)
        {
            return null;
        }

        var (answer, place, _) = await nodes.CallAsync(
            call.Http, location, new NodeCallRequest(HttpMethods.Get, target), stop).ConfigureAwait(false);
        if (answer is { Status: StatusCodes.Status200OK })
        {
            return new Part(PipeReader.Create(answer.Body, new StreamPipeReaderOptions(leaveOpen: true)), null, answer, place);
        }

        answer?.Dispose();
        place?.Dispose();
        return null;
    }

    private async Task WriteOwnAsync(ClusterCall call, string target, PipeWriter output, CancellationToken stop)
    {
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        try
        {
            var own = NodeCallContext.TryMake(
                HttpMethods.Get, target, new NodeCaller("", audit.Credential), call.Http.Connection.RemoteIpAddress, output.AsStream(),
                stop)!;
            own.Request.Body = Stream.Null;
            await call.Here(own).ConfigureAwait(false);
            await output.CompleteAsync(
                own.Response.StatusCode == StatusCodes.Status200OK ? null : new IOException("It is no longer inspected."))
                .ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            await output.CompleteAsync(new IOException("The file was cut.", exception)).ConfigureAwait(false);
        }
    }

    /// <summary>What one node sends.</summary>
    private sealed class Part(PipeReader input, Task? writing, NodeCallAnswer? answer, IDisposable? place)
    {
        /// <summary>Its entries.</summary>
        public EntryLines Entries { get; } = new(input, LongestLine);

        /// <summary>Ends it, also before its end.</summary>
        public async ValueTask CloseAsync()
        {
            await input.CompleteAsync().ConfigureAwait(false);
            await (writing ?? Task.CompletedTask).ConfigureAwait(false);
            answer?.Dispose();
            place?.Dispose();
        }
    }
}
