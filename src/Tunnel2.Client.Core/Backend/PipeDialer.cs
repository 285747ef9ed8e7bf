using System.IO.Pipes;
using System.Net.Sockets;
using System.Security.Principal;

namespace Tunnel2.Client.Core.Backend;

/// <summary>Connects to services on named pipes of this machine.</summary>
internal static class PipeDialer
{
    /// <summary>
    /// Attempts, at most. A service with one instance of its pipe has none for a moment after each connection. What is missing for longer
    /// does not run.
    /// </summary>
    private const int Attempts = 10;

    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(20);

    /// <summary>Connects.</summary>
    /// <param name="name">The pipe.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The connection, or why there is none.</returns>
    public static async ValueTask<(PipeTransport? Transport, SocketError Error)> ConnectAsync(
        string name, TimeProvider timeProvider, CancellationToken cancellationToken)
    {
        for (var attempt = 1; ; attempt++)
        {
            // The service may learn who the agent's user is, and may not act in this user's name.
            var pipe = new NamedPipeClientStream(
                ".", name, PipeDirection.InOut, PipeOptions.Asynchronous, TokenImpersonationLevel.Identification);
            try
            {
                // One look, which waits for nothing: the framework's own wait keeps a thread of the pool.
                await pipe.ConnectAsync(0, cancellationToken).ConfigureAwait(false);
                return (new PipeTransport(pipe, timeProvider), SocketError.Success);
            }
            catch (TimeoutException)
            {
                await pipe.DisposeAsync().ConfigureAwait(false);
                if (attempt == Attempts)
                {
                    return (null, SocketError.ConnectionRefused);
                }
            }
            catch (Exception exception)
                when (exception is UnauthorizedAccessException or IOException or SocketException or ArgumentException)
            {
                await pipe.DisposeAsync().ConfigureAwait(false);
                return (null, exception is UnauthorizedAccessException ? SocketError.AccessDenied : SocketError.SocketError);
            }
            catch
            {
                await pipe.DisposeAsync().ConfigureAwait(false);
                throw;
            }

            await Task.Delay(_pause, timeProvider, cancellationToken).ConfigureAwait(false);
        }
    }
}
