using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Lets the connections of a listener be read in turns, after TLS if there is any.</summary>
internal static class TurnTaking
{
    public static void TakeTurns(this ListenOptions listen)
    {
        listen.Use((ConnectionDelegate next) => connection =>
        {
            if (connection.Transport is { Input: not SocketPipeReader } transport)
            {
                connection.Transport = new TurnTakingTransport(new TurnTakingInput(transport.Input, TurnsOf(connection)), transport.Output);
            }

            return next(connection);
        });
    }

    private static PipeScheduler TurnsOf(ConnectionContext connection) =>
        connection.Features.Get<ILoopFeature>() is { } loop ? new LoopTurns(loop) : PipeScheduler.ThreadPool;

    /// <summary>The turns of the connection's loop, also after it moved to another one.</summary>
    private sealed class LoopTurns(ILoopFeature connection) : PipeScheduler
    {
        public override void Schedule(Action<object?> action, object? state) => connection.Loop.Turns.Schedule(action, state);
    }

    private sealed class TurnTakingTransport(PipeReader input, PipeWriter output) : IDuplexPipe
    {
        public PipeReader Input => input;

        public PipeWriter Output => output;
    }
}
