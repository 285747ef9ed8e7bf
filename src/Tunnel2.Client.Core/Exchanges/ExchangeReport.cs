using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Events;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What is reported of a request when it is over: to the agent's user, and to the inspector.</summary>
internal readonly struct ExchangeReport
{
    private readonly RequestSummary _summary;
    private readonly long _started;

    private ExchangeReport(RequestSummary summary, long started)
    {
        _summary = summary;
        _started = started;
    }

    /// <summary>A request begins. Where no summary is wanted, this costs nothing.</summary>
    public static ExchangeReport Begin(ExchangeContext context, TunnelStream stream) =>
        context.Events.WantsRequests ? new ExchangeReport(Describe(stream), context.TimeProvider.GetTimestamp()) : default;

    /// <summary>It is over; its stream is not given back yet.</summary>
    public void End(ExchangeContext context, TunnelStream stream, ExchangeCounters counters, BackendFailure failure)
    {
        if (counters.Capture is { } capture)
        {
            var trouble = WordsFor(failure, stream.Failure, counters);
            capture.OnEnded(trouble?.Leg, trouble?.Error);
            counters.Capture = null;
        }

        if (context.Events.WantsRequests)
        {
            var trouble = WordsFor(failure, stream.Failure, counters);
            context.Events.RequestCompleted(_summary with
            {
                StatusCode = counters.StatusCode,
                Duration = context.TimeProvider.GetElapsedTime(_started),
                RequestBytes = counters.RequestBytes,
                ResponseBytes = counters.ResponseBytes,
                Error = trouble?.Error,
                Leg = trouble?.Leg,
                Service = counters.Service,
            });
        }
        else if (!failure.IsNone)
        {
            ReportFailure(context.Events, failure, counters);
        }
    }

    /// <summary>What the visitor caused, or another agent may still serve, is no failure.</summary>
    private static void ReportFailure(IAgentEvents events, BackendFailure failure, ExchangeCounters counters)
    {
        var (leg, error) = Named(ExchangeFailureWords.For(failure.Reason, failure.Detail), counters);
        if (leg != "visitor" && (failure.Reason != StreamResetReason.Refused || failure.Detail == StreamResetDetail.TooManyStreams))
        {
            events.RequestFailed(leg, error);
        }
    }

    private static (string Leg, string Error)? WordsFor(BackendFailure failure, StreamFailure stream, ExchangeCounters counters) =>
        ExchangeFailureWords.For(failure, stream) is not { } words ? null
        : counters.Refusal is { } refusal ? (words.Leg, refusal)
        : Named(words, counters);

    /// <summary>Where a tunnel has several services, the words say which one it was.</summary>
    private static (string Leg, string Error) Named((string Leg, string Error) words, ExchangeCounters counters) =>
        words.Leg == "backend" && counters.Service is { } service ? (words.Leg, $"{service}: {words.Error}") : words;

    private static RequestSummary Describe(TunnelStream stream) =>
        stream.TryRead(out var head)
            && head.Kind == StreamItemKind.Head
            && HeaderBlock.TryRead(head.Memory.Span, out var block) == ProtocolError.None
            ? new RequestSummary(
                PlainText.Clean(Encoding.Latin1.GetString(block.Method)), Encoding.Latin1.GetString(block.Target), 0, default, 0, 0)
            : default;
}
