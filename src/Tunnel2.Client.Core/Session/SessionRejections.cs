using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Session;

/// <summary>Turns a REJECT into the end of an attempt to connect, with the words that the agent has for it.</summary>
internal static class SessionRejections
{
    public static ConnectionEnd Of(RejectMessage reject)
    {
        var reason = reject.Code switch
        {
            RejectCode.Unauthorized => RejectionReason.Unauthorized,
            RejectCode.TokenExpired => RejectionReason.TokenExpired,
            RejectCode.PoolNotPossible => RejectionReason.PoolNotPossible,
            RejectCode.TlsRequired => RejectionReason.TlsRequired,
            RejectCode.NameTaken when reject.IsRetryable => RejectionReason.NameKept,
            RejectCode.NameTaken => RejectionReason.NameTaken,
            RejectCode.InvalidName or RejectCode.NameNotAllowed => RejectionReason.NameNotAllowed,
            RejectCode.VersionNotSupported => RejectionReason.VersionUnsupported,
            RejectCode.KindNotSupported => RejectionReason.KindUnsupported,
            RejectCode.PortNotAvailable => RejectionReason.PortNotAvailable,
            RejectCode.PortLimitReached => RejectionReason.PortLimitReached,
            RejectCode.AccessNotSupported => RejectionReason.AccessUnsupported,
            RejectCode.Overloaded or RejectCode.GoingAway => RejectionReason.Busy,
            _ => RejectionReason.Other,
        };
        var rejection = new Rejection(reason, reject.Code.ToString(), reject.Text);
        return reject.IsRetryable
            ? ConnectionEnd.RejectedForNow(rejection, reject.RetryAfter)
            : ConnectionEnd.RejectedPermanently(rejection);
    }
}
