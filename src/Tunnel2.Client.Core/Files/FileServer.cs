using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Files;

/// <summary>
/// Serves a folder to the agent of the same process: on a Unix socket in a folder that no other user can enter, on Windows on a port of
/// this machine. Sockets of the runtime and threads of the pool, so that nothing of it is on an event loop. The agent limits the
/// connections (<c>--backend-connections</c>); the files that are open at once have a limit of their own.
/// </summary>
internal sealed class FileServer : IAsyncDisposable
{
    /// <summary>Files that are open at once.</summary>
    public const int MostFiles = 512;

    private const int Waiting = 1024;

    private static readonly TimeSpan _rest = TimeSpan.FromMilliseconds(100);

    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _files = new(MostFiles);
    private readonly Lock _gate = new();
    private readonly Dictionary<Socket, Task> _open = [];
    private readonly Socket _listener;
    private readonly string? _folder;
    private readonly FileFinder _finder;
    private readonly bool _lists;
    private readonly TimeProvider _time;
    private readonly Task _accepting;

    private FileServer(Socket listener, string? folder, FileFinder finder, bool lists, TimeProvider time)
    {
        _listener = listener;
        _folder = folder;
        _finder = finder;
        _lists = lists;
        _time = time;
        string shown = "file:" + finder.Root;
        Target = listener.LocalEndPoint is IPEndPoint port
            ? new BackendTarget(false, port.Address.ToString(), port.Port) { Shown = shown }
            : new BackendTarget(false, "localhost", 80) { SocketPath = SocketOf(folder!), Shown = shown };
        _accepting = Task.Run(AcceptAsync);
    }

    /// <summary>What the agent forwards to.</summary>
    public BackendTarget Target { get; }

    /// <summary>Starts it.</summary>
    /// <param name="root">The folder to serve.</param>
    /// <param name="lists">Whether folders without an index are listed.</param>
    /// <param name="time">The clock.</param>
    /// <exception cref="IOException">There is no place for its socket.</exception>
    /// <exception cref="UnauthorizedAccessException">The folder for its socket cannot be made.</exception>
    public static FileServer Start(string root, bool lists, TimeProvider time)
    {
        var finder = new FileFinder(root);
        string? folder = null;
        Socket? listener = null;
        try
        {
            EndPoint endPoint;
            if (OperatingSystem.IsWindows())
            {
                endPoint = new IPEndPoint(IPAddress.Loopback, 0);
                listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            }
            else
            {
                // Its mode lets only this user in.
                folder = Directory.CreateTempSubdirectory("tunnel2-").FullName;
                endPoint = new UnixDomainSocketEndPoint(SocketOf(folder));
                listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            }

            listener.Bind(endPoint);
            listener.Listen(Waiting);
            return new FileServer(listener, folder, finder, lists, time);
        }
        catch (Exception exception)
        {
            listener?.Dispose();
            Remove(folder);
            if (exception is SocketException or ArgumentException)
            {
                throw new IOException($"There is no place for the file server's socket: {exception.Message}", exception);
            }

            throw;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _accepting.ConfigureAwait(false);
        Task[] serving;
        lock (_gate)
        {
            serving = [.. _open.Values];
            foreach (Socket socket in _open.Keys)
            {
                socket.Dispose();
            }
        }

        await Task.WhenAll(serving).ConfigureAwait(false);
        _files.Dispose();
        _stop.Dispose();
        Remove(_folder);
    }

    private static string SocketOf(string folder) => Path.Combine(folder, "files");

    private static void Remove(string? folder)
    {
        try
        {
            if (folder is not null)
            {
                Directory.Delete(folder, recursive: true);
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // An empty folder stays among the temporary ones.
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                try
                {
                    Socket socket = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                    lock (_gate)
                    {
                        _open.Add(socket, Task.CompletedTask);
                        _open[socket] = Task.Run(() => ServeAsync(socket));
                    }
                }
                catch (SocketException) when (!_stop.IsCancellationRequested)
                {
                    // There is no descriptor for it: the next one.
                    await Task.Delay(_rest, _time, _stop.Token).ConfigureAwait(false);
                }
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException or SocketException)
        {
            // The agent ends.
        }
    }

    /// <summary>Serves one connection, and contains its faults.</summary>
    private async Task ServeAsync(Socket socket)
    {
        try
        {
            await using var stream = new NetworkStream(socket, ownsSocket: true);
            await new FileConnection(stream, _finder, _lists, _files, _time).RunAsync(_stop.Token).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this connection and nothing else.
        }
        finally
        {
            lock (_gate)
            {
                _open.Remove(socket);
            }

            socket.Dispose();
        }
    }
}
