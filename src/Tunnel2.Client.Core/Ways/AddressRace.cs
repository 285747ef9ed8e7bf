using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Client.Core.Ways;

/// <summary>
/// Connects to a host with several addresses: the small version of Happy Eyeballs (RFC 8305). The families take turns, IPv6 first; an
/// attempt begins when the one before it has failed, or after a quarter of a second; the first connection wins.
/// </summary>
internal static class AddressRace
{
    /// <summary>How many addresses are tried at most.</summary>
    public const int MostAddresses = 16;

    /// <summary>RFC 8305 section 5, "Connection Attempt Delay".</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(250);

    /// <summary>The order of attempts.</summary>
    public static IReadOnlyList<IPAddress> Order(IEnumerable<IPAddress> addresses)
    {
        var left = addresses.Distinct().ToList();
        var ordered = new List<IPAddress>(Math.Min(left.Count, MostAddresses));
        var family = AddressFamily.InterNetworkV6;
        while (left.Count > 0 && ordered.Count < MostAddresses)
        {
            var next = left.Find(address => address.AddressFamily == family) ?? left[0];
            left.Remove(next);
            ordered.Add(next);
            family = next.AddressFamily == AddressFamily.InterNetworkV6 ? AddressFamily.InterNetwork : AddressFamily.InterNetworkV6;
        }

        return ordered;
    }

    /// <summary>Tries the addresses until one connects.</summary>
    /// <typeparam name="T">The connection; those that come too late are disposed of.</typeparam>
    /// <param name="addresses">The addresses, in order.</param>
    /// <param name="connect">Connects to one of them.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="cancellationToken">Gives up all attempts.</param>
    /// <exception cref="SocketException">None connected; the clearest of the errors.</exception>
    /// <exception cref="OperationCanceledException">Given up.</exception>
    public static async Task<(T Connection, IPAddress Address)> RunAsync<T>(
        IReadOnlyList<IPAddress> addresses, Func<IPAddress, CancellationToken, Task<T>> connect, TimeProvider timeProvider,
        CancellationToken cancellationToken)
        where T : class, IAsyncDisposable
    {
        using var over = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        var running = new List<Task<Attempt<T>>>();
        var failure = new SocketException((int)SocketError.HostNotFound);
        var next = 0;
        try
        {
            while (next < addresses.Count || running.Count > 0)
            {
                var pause = Task.CompletedTask;
                if (next < addresses.Count)
                {
                    running.Add(TryAsync(addresses[next++], connect, over.Token));
                    pause = next < addresses.Count ? Task.Delay(_pause, timeProvider, over.Token) : Task.CompletedTask;
                }

                while (running.Count > 0)
                {
                    var first = next < addresses.Count
                        ? await Task.WhenAny([.. running, pause]).ConfigureAwait(false)
                        : await Task.WhenAny(running).ConfigureAwait(false);
                    cancellationToken.ThrowIfCancellationRequested();
                    if (first is not Task<Attempt<T>> attempt)
                    {
                        break;
                    }

                    running.Remove(attempt);
                    var (connection, address, error) = await attempt.ConfigureAwait(false);
                    if (connection is not null)
                    {
                        return (connection, address);
                    }

                    failure = error is not null && (IsVague(failure) || !IsVague(error)) ? error : failure;
                    if (next < addresses.Count)
                    {
                        break;
                    }
                }
            }

            throw failure;
        }
        finally
        {
            await over.CancelAsync().ConfigureAwait(false);
            foreach (var late in running)
            {
                _ = DiscardAsync(late);
            }
        }
    }

    /// <summary>Whether an error says less than that of another address may: this machine has no way to the family at all.</summary>
    public static bool IsVague(SocketException error) => error.SocketErrorCode is SocketError.HostNotFound
        or SocketError.NetworkUnreachable or SocketError.HostUnreachable or SocketError.AddressNotAvailable
        or SocketError.AddressFamilyNotSupported;

    private static async Task<Attempt<T>> TryAsync<T>(
        IPAddress address, Func<IPAddress, CancellationToken, Task<T>> connect, CancellationToken over)
        where T : class, IAsyncDisposable
    {
        try
        {
            return new Attempt<T>(await connect(address, over).ConfigureAwait(false), address, null);
        }
        catch (SocketException exception)
        {
            return new Attempt<T>(null, address, exception);
        }
        catch (Exception exception) when (exception is OperationCanceledException or IOException or ObjectDisposedException)
        {
            return new Attempt<T>(null, address, new SocketException((int)SocketError.OperationAborted));
        }
    }

    private static async Task DiscardAsync<T>(Task<Attempt<T>> late)
        where T : class, IAsyncDisposable
    {
        if ((await late.ConfigureAwait(false)).Connection is { } connection)
        {
            await connection.DisposeAsync().ConfigureAwait(false);
        }
    }

    private readonly record struct Attempt<T>(T? Connection, IPAddress Address, SocketException? Error);
}
