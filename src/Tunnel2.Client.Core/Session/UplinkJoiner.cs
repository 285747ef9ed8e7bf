using System.Diagnostics.CodeAnalysis;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Dials further uplinks of a session and says JOIN on them. One attempt at a time, so that counters arrive in order. Thread-safe.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Its semaphore has no handle that must be closed: nothing waits for one.")]
internal sealed class UplinkJoiner
{
    private readonly SemaphoreSlim _turn = new(1);
    private readonly WelcomeMessage _welcome;
    private readonly Func<bool, CancellationToken, Task<IUplinkTransport?>> _connect;
    private readonly TimeProvider _timeProvider;
    private ulong _counter;

    /// <summary>Whether an uplink was opened at the uplink's own port while the session's way was another; guarded by the turn.</summary>
    private bool _goesDirect;

    /// <summary>Makes one for a session.</summary>
    /// <param name="welcome">The answer to the session's HELLO: who the session is, and its secret.</param>
    /// <param name="connect">
    /// Dials the server, on the session's way or (true) at the uplink's own port; null when it cannot be reached.
    /// </param>
    /// <param name="timeProvider">Time.</param>
    public UplinkJoiner(WelcomeMessage welcome, Func<bool, CancellationToken, Task<IUplinkTransport?>> connect, TimeProvider timeProvider)
    {
        _welcome = welcome;
        _connect = connect;
        _timeProvider = timeProvider;
    }

    /// <summary>Adds one uplink. Ordinary failures are values.</summary>
    /// <param name="isDirect">Whether it must be at the uplink's own port, also where the session uses another way.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="OperationCanceledException">Given up.</exception>
    public async Task<JoinOutcome> JoinAsync(bool isDirect, CancellationToken cancellationToken)
    {
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            var (outcome, isUnknown) = await TryJoinAsync(isDirect, cancellationToken).ConfigureAwait(false);
            if (isUnknown)
            {
                // An earlier attempt that we gave up may have come after this one: a new counter decides.
                (outcome, _) = await TryJoinAsync(isDirect, cancellationToken).ConfigureAwait(false);
            }

            if (cancellationToken.IsCancellationRequested && outcome.Transport is { } late)
            {
                await late.DisposeAsync().ConfigureAwait(false);
            }

            cancellationToken.ThrowIfCancellationRequested();
            _goesDirect |= isDirect && outcome.Transport is not null;
            return outcome;
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task<(JoinOutcome Outcome, bool IsUnknown)> TryJoinAsync(bool isDirect, CancellationToken cancellationToken)
    {
        var transport = await _connect(isDirect || _goesDirect, cancellationToken).ConfigureAwait(false);
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
