using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Dials further uplinks of a session and says JOIN on them. One attempt at a time, so that counters arrive in order. Not thread-safe.
/// </summary>
internal sealed class UplinkJoiner
{
    private readonly WelcomeMessage _welcome;
    private readonly Func<CancellationToken, Task<IUplinkTransport?>> _connect;
    private readonly TimeProvider _timeProvider;
    private ulong _counter;

    /// <summary>Makes one for a session.</summary>
    /// <param name="welcome">The answer to the session's HELLO: who the session is, and its secret.</param>
    /// <param name="connect">Dials the server; null when it cannot be reached.</param>
    /// <param name="timeProvider">Time.</param>
    public UplinkJoiner(WelcomeMessage welcome, Func<CancellationToken, Task<IUplinkTransport?>> connect, TimeProvider timeProvider)
    {
        _welcome = welcome;
        _connect = connect;
        _timeProvider = timeProvider;
    }

    /// <summary>Adds one uplink. Ordinary failures are values.</summary>
    /// <exception cref="OperationCanceledException">Given up.</exception>
    public async Task<JoinOutcome> JoinAsync(CancellationToken cancellationToken)
    {
        var (outcome, isUnknown) = await TryJoinAsync(cancellationToken).ConfigureAwait(false);
        if (isUnknown)
        {
            // An earlier attempt that we gave up may have come after this one: a new counter decides.
            (outcome, _) = await TryJoinAsync(cancellationToken).ConfigureAwait(false);
        }

        cancellationToken.ThrowIfCancellationRequested();
        return outcome;
    }

    private async Task<(JoinOutcome Outcome, bool IsUnknown)> TryJoinAsync(CancellationToken cancellationToken)
    {
        var transport = await _connect(cancellationToken).ConfigureAwait(false);
        if (transport is null)
        {
            return (JoinOutcome.Failed(), false);
        }

        var joined = false;
        try
        {
            await transport.SendAsync(
                JoinMessage.Create(_welcome.SessionId, _welcome.JoinSecret.Span, ++_counter).ToFrame()).ConfigureAwait(false);
            var answer = await HandshakeFrameReader.ReadAsync(
                transport,
                static type => type is FrameType.Welcome or FrameType.Reject,
                ProtocolLimits.HandshakeTimeout,
                _timeProvider,
                cancellationToken).ConfigureAwait(false);
            if (answer.Status != HandshakeReadStatus.Frame)
            {
                return (JoinOutcome.Failed(), false);
            }

            if (answer.Type == FrameType.Reject)
            {
                return RejectMessage.TryRead(answer.Payload.Span, out var reject) == ProtocolError.None
                    ? (JoinOutcome.Failed(reject!.IsRetryable ? reject.RetryAfter : null), reject.Code == RejectCode.UnknownSession)
                    : (JoinOutcome.Failed(), false);
            }

            joined = WelcomeMessage.TryRead(answer.Payload.Span, out var welcome) == ProtocolError.None && IsSameSession(welcome!);
            return (joined ? new JoinOutcome(transport, answer.Rest, null) : JoinOutcome.Failed(), false);
        }
        catch (IOException)
        {
            return (JoinOutcome.Failed(), false);
        }
        finally
        {
            if (!joined)
            {
                await transport.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private bool IsSameSession(WelcomeMessage welcome) =>
        welcome.SessionId.Span.SequenceEqual(_welcome.SessionId.Span) && welcome.Epoch == _welcome.Epoch;
}
