using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Client.Core.Events;

/// <summary>Why one life of a session ended, or why it never began.</summary>
public enum ConnectionEndReason
{
    /// <summary>No session came about: no server there, no route, something else answers.</summary>
    ServerUnreachable = 0,

    /// <summary>The server said no, and would say no again.</summary>
    RejectedPermanently,

    /// <summary>The server said no for now.</summary>
    RejectedForNow,

    /// <summary>The connection broke, or the peer broke the protocol.</summary>
    Lost,

    /// <summary>Another agent with the same identity took the name over.</summary>
    Superseded,

    /// <summary>The server drained the session because it is about to stop.</summary>
    GoingAway,

    /// <summary>The agent itself was asked to stop.</summary>
    Stopped,
}

/// <summary>How one attempt to hold a session ended. Immutable.</summary>
public sealed record ConnectionEnd
{
    private ConnectionEnd(ConnectionEndReason reason, string message, TimeSpan upTime)
    {
        Reason = reason;
        Message = message;
        UpTime = upTime;
    }

    /// <summary>Why it ended.</summary>
    public ConnectionEndReason Reason { get; }

    /// <summary>One line for the user.</summary>
    public string Message { get; }

    /// <summary>From the server's welcome to the end; zero when there was no welcome.</summary>
    public TimeSpan UpTime { get; }

    /// <summary>How long the server asks to wait at least, or null.</summary>
    public TimeSpan? RetryAfter { get; private init; }

    /// <summary>What kept the agent from the server; only with <see cref="ConnectionEndReason.ServerUnreachable"/>.</summary>
    public ConnectFailure? Failure { get; private init; }

    /// <summary>What the server objects to; only with the two rejections.</summary>
    public Rejection? Rejection { get; private init; }

    /// <summary>Whether its uplinks still finish what they carry.</summary>
    internal bool IsFinishing { get; init; }

    /// <summary>No session came about.</summary>
    public static ConnectionEnd Unreachable(ConnectFailure failure)
    {
        ArgumentNullException.ThrowIfNull(failure);
        return new ConnectionEnd(ConnectionEndReason.ServerUnreachable, failure.Message, TimeSpan.Zero) { Failure = failure };
    }

    /// <summary>The server said no, and would say no again: the agent ends with exit code 3.</summary>
    public static ConnectionEnd RejectedPermanently(Rejection rejection)
    {
        ArgumentNullException.ThrowIfNull(rejection);
        return new ConnectionEnd(ConnectionEndReason.RejectedPermanently, rejection.Message, TimeSpan.Zero) { Rejection = rejection };
    }

    /// <summary>The server said no for now, and perhaps for how long.</summary>
    public static ConnectionEnd RejectedForNow(Rejection rejection, TimeSpan? retryAfter = null)
    {
        ArgumentNullException.ThrowIfNull(rejection);
        return new ConnectionEnd(ConnectionEndReason.RejectedForNow, rejection.Message, TimeSpan.Zero)
        {
            Rejection = rejection,
            RetryAfter = retryAfter,
        };
    }

    /// <summary>The connection broke.</summary>
    public static ConnectionEnd Lost(string message, TimeSpan upTime) => new(ConnectionEndReason.Lost, message, upTime);

    /// <summary>
    /// Another agent took the name over: the agent ends with exit code 3, or the two would take it from each other for ever.
    /// </summary>
    public static ConnectionEnd Superseded(TimeSpan upTime) =>
        new(ConnectionEndReason.Superseded, "Another agent with the same identity took the name over.", upTime);

    /// <summary>The server drained the session.</summary>
    public static ConnectionEnd GoingAway(TimeSpan upTime, TimeSpan? retryAfter = null) =>
        new(ConnectionEndReason.GoingAway, "The server is going away.", upTime) { RetryAfter = retryAfter };

    /// <summary>The agent itself was asked to stop.</summary>
    public static ConnectionEnd Stopped(TimeSpan upTime) => new(ConnectionEndReason.Stopped, "Stopped.", upTime);
}
