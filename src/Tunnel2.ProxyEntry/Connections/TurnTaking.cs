using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Lets the connections of a listener be read in turns, behind TLS where there is any.</summary>
internal static class TurnTaking
{
    public static void TakeTurns(this ListenOptions listen)
    {
        var turns = listen.ApplicationServices.GetRequiredService<IEngine>().TurnScheduler;
        listen.Use((ConnectionDelegate next) => connection =>
        {
            if (connection.Transport is { Input: not SocketPipeReader } transport)
            {
                connection.Transport = new TurnTakingTransport(new TurnTakingInput(transport.Input, turns), transport.Output);
            }

            return next(connection);
        });
    }

    private sealed class TurnTakingTransport(PipeReader input, PipeWriter output) : IDuplexPipe
    {
        public PipeReader Input => input;

        public PipeWriter Output => output;
    }
}
