using System.Globalization;
using System.Text;
using Grpc.Core;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Grpc;

/// <summary>What the service does; the request's metadata say how.</summary>
public sealed class GrpcEcho : GrpcEchoBase
{
    /// <summary>Calls that have begun to wait until they are cancelled.</summary>
    public static AsyncCounter Waiting { get; } = new("calls that wait");

    /// <summary>Calls that were cancelled.</summary>
    public static AsyncCounter Cancelled { get; } = new("calls that were cancelled");

    /// <summary>Answers with the request, its metadata back in head and trailers.</summary>
    public override async Task<byte[]> Unary(byte[] request, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        FailIfAsked(context);

        if (context.RequestHeaders.Get("wait") is not null)
        {
            await WaitAsync(context);
        }

        var head = new Metadata();
        foreach (var entry in context.RequestHeaders.Where(static entry => entry.Key.StartsWith("echo-", StringComparison.Ordinal)))
        {
            (entry.Key.StartsWith("echo-trailer", StringComparison.Ordinal) ? context.ResponseTrailers : head).Add(entry);
        }

        AddLarge(head, context.RequestHeaders.Get("large"));
        AddLarge(context.ResponseTrailers, context.RequestHeaders.Get("large-trailer"));

        await context.WriteResponseHeadersAsync(head);
        return AnswerTo(request, context);
    }

    /// <summary>Sends as many messages as the request says; or one of each length in it.</summary>
    public override async Task Down(byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(responses);
        ArgumentNullException.ThrowIfNull(request);
        ArgumentNullException.ThrowIfNull(context);
        if (IsSized(context))
        {
            for (var i = 0; i < request.Length; i += sizeof(int))
            {
                await responses.WriteAsync(new byte[BitConverter.ToInt32(request, i)]);
            }

            return;
        }

        for (var i = 0; i < BitConverter.ToInt32(request); i++)
        {
            await responses.WriteAsync(BitConverter.GetBytes(i));
        }

        if (context.RequestHeaders.Get("wait") is not null)
        {
            await WaitAsync(context);
        }
    }

    /// <summary>Answers with the sum of all lengths.</summary>
    public override async Task<byte[]> Up(IAsyncStreamReader<byte[]> requests, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(requests);
        var sum = 0L;
        while (await requests.MoveNext())
        {
            sum += requests.Current.Length;
        }

        return BitConverter.GetBytes(sum);
    }

    /// <summary>Sends each message back, or one of the length in it.</summary>
    public override async Task Both(IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(requests);
        ArgumentNullException.ThrowIfNull(responses);
        ArgumentNullException.ThrowIfNull(context);
        while (await requests.MoveNext())
        {
            FailIfAsked(context);
            await responses.WriteAsync(AnswerTo(requests.Current, context));
        }
    }

    private static void AddLarge(Metadata fields, Metadata.Entry? asked)
    {
        if (asked is not null)
        {
            fields.Add("echo-large", new string('x', int.Parse(asked.Value, CultureInfo.InvariantCulture)));
        }
    }

    private static void FailIfAsked(ServerCallContext context)
    {
        if (context.RequestHeaders.Get("fail") is { } fail)
        {
            var words = Encoding.UTF8.GetString(context.RequestHeaders.GetValueBytes("why-bin") ?? []);
            throw new RpcException(new Status((StatusCode)int.Parse(fail.Value, CultureInfo.InvariantCulture), words));
        }
    }

    /// <summary>Whether each message says how long its answer is to be.</summary>
    private static bool IsSized(ServerCallContext context) => context.RequestHeaders.Get("sized") is not null;

    private static byte[] AnswerTo(byte[] request, ServerCallContext context) =>
        IsSized(context) ? new byte[BitConverter.ToInt32(request)] : request;

    private static async Task WaitAsync(ServerCallContext context)
    {
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var registration = context.CancellationToken.Register(over.SetResult);
        Waiting.Increment();
        await over.Task;
        Cancelled.Increment();
        throw new RpcException(new Status(StatusCode.Cancelled, ""));
    }
}
