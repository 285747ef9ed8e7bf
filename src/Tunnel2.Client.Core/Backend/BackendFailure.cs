using System.Net.Sockets;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>Why a backend did not do its part, in the words of the wire. An ordinary failure, so a value.</summary>
/// <param name="Reason">The reset's reason.</param>
/// <param name="Detail">More about it.</param>
internal readonly record struct BackendFailure(StreamResetReason Reason, StreamResetDetail Detail)
{
    public static BackendFailure None => default;

    public bool IsNone => Reason == StreamResetReason.None && Detail == StreamResetDetail.None;

    public static BackendFailure Connect(StreamResetDetail detail) => new(StreamResetReason.BackendConnect, detail);

    public static BackendFailure Protocol(StreamResetDetail detail) => new(StreamResetReason.BackendProtocol, detail);

    /// <summary>Whether this machine is short of something: it says nothing of the backend.</summary>
    public bool IsOfThisSide =>
        Reason == StreamResetReason.BackendConnect && Detail is StreamResetDetail.TooManyConnections or StreamResetDetail.NoDescriptors;

    /// <summary>What a failed connect means.</summary>
    public static BackendFailure FromConnect(SocketError error) => Connect(error switch
    {
        SocketError.ConnectionRefused => StreamResetDetail.ConnectionRefused,
        SocketError.TimedOut or SocketError.OperationAborted => StreamResetDetail.ConnectTimeout,
        SocketError.TooManyOpenSockets => StreamResetDetail.NoDescriptors,
        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain or SocketError.NoRecovery =>
            StreamResetDetail.NameNotResolved,
        _ => StreamResetDetail.Unreachable,
    });
}
