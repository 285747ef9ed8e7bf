using System.Net.Sockets;
using System.Text;

namespace Tunnel2.Ports;

/// <summary>
/// Gives the listening sockets to each process of the same user that connects to a Unix socket: one message, <c>tunnel2-ports/1 public
/// uplink</c> and a line feed, with a descriptor for each name (SCM_RIGHTS). The connection then stays open; its end shows that this
/// process has ended. A peer that sends bytes is disconnected. One thread, which sleeps in the kernel.
/// </summary>
internal sealed class HandoverServer
{
    /// <summary>One ProxyEntry at a time is usual, two during a replacement.</summary>
    private const int MostTakers = 16;

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    /// <summary>The wait when no descriptor is left.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(100);

    private readonly string _path;
    private readonly IReadOnlyList<HeldListener> _listeners;
    private readonly Socket _door;
    private readonly uint _user;
    private readonly Action<string> _say;
    private readonly byte[] _words;
    private readonly List<Socket> _takers = [];
    private volatile bool _isStopping;

    private HandoverServer(string path, IReadOnlyList<HeldListener> listeners, Socket door, uint user, Action<string> say)
    {
        _path = path;
        _listeners = listeners;
        _door = door;
        _user = user;
        _say = say;
        _words = Encoding.ASCII.GetBytes($"tunnel2-ports/1 {string.Join(' ', listeners.Select(static listener => listener.Name))}\n");
    }

    /// <summary>The listening sockets.</summary>
    public IReadOnlyList<HeldListener> Listeners => _listeners;

    /// <summary>Listens on all addresses, then opens the Unix socket.</summary>
    /// <param name="options">The addresses and the path.</param>
    /// <param name="say">Receives a line for each event.</param>
    /// <param name="user">The user that gets the sockets; null: the user of this process.</param>
    /// <exception cref="IOException">An address or the path is not available; then nothing is held.</exception>
    public static HandoverServer Start(PortsOptions options, Action<string> say, uint? user = null)
    {
        var listeners = new List<HeldListener>();
        try
        {
            foreach (var (name, endPoint) in options.Listeners)
            {
                listeners.Add(HeldListener.Start(name, endPoint));
            }

            var server = new HandoverServer(options.Path, listeners, Open(options.Path), user ?? Libc.EffectiveUser(), say);
            var names = string.Join(", ", listeners.Select(static listener => $"{listener.Name}={listener.EndPoint}"));
            say($"Holding {names}; {options.Path} gives them to processes of user {server._user}");
            return server;
        }
        catch (IOException)
        {
            listeners.ForEach(static listener => listener.Socket.Dispose());
            throw;
        }
    }

    /// <summary>Serves until <see cref="Stop"/>, then closes all sockets.</summary>
    public void Run()
    {
        var ready = new List<Socket>();
        while (!_isStopping)
        {
            ready.Clear();
            ready.Add(_door);
            ready.AddRange(_takers);
            Socket.Select(ready, null, null, Timeout.InfiniteTimeSpan);
            foreach (var socket in ready)
            {
                if (ReferenceEquals(socket, _door))
                {
                    Accept();
                }
                else
                {
                    Hear(socket);
                }
            }
        }

        RemovePath();
        _takers.ForEach(static taker => taker.Dispose());
        _door.Dispose();
        foreach (var listener in _listeners)
        {
            listener.Socket.Dispose();
        }
    }

    /// <summary>Ends <see cref="Run"/>. From any thread.</summary>
    public void Stop()
    {
        _isStopping = true;
        try
        {
            // Wakes the thread that waits on it.
            _door.Shutdown(SocketShutdown.Both);
        }
        catch (ObjectDisposedException)
        {
            // It has ended already.
        }
    }

    /// <summary>Opens the Unix socket. Only its owner can use it, from the first moment.</summary>
    private static Socket Open(string path)
    {
        var door = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            var endPoint = new UnixDomainSocketEndPoint(path);
            RemoveStale(path, endPoint);
            door.Bind(endPoint);
            if (!OperatingSystem.IsWindows())
            {
                File.SetUnixFileMode(path, OwnerOnly);
            }

            door.Listen(MostTakers);

            // A peer that leaves between poll and accept must not hold up the others.
            door.Blocking = false;
            return door;
        }
        catch (Exception exception) when (exception is SocketException or IOException or UnauthorizedAccessException or ArgumentException)
        {
            door.Dispose();
            throw new IOException($"Cannot give the sockets away at {path}: {exception.Message}", exception);
        }
    }

    /// <summary>Removes the path that a process left when it did not end in order.</summary>
    /// <exception cref="IOException">A process listens there, it is not a socket, or its folder is missing.</exception>
    private static void RemoveStale(string path, UnixDomainSocketEndPoint endPoint)
    {
        if (Path.GetDirectoryName(Path.GetFullPath(path)) is { } folder && !Directory.Exists(folder))
        {
            throw new IOException($"there is no folder {folder}");
        }

        if (!File.Exists(path))
        {
            return;
        }

        using var visitor = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            visitor.Connect(endPoint);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionRefused)
        {
            if (IsFile(path))
            {
                throw new IOException("there is a file that is not a socket");
            }

            File.Delete(path);
            return;
        }

        throw new IOException("another process gives sockets away there");
    }

    /// <summary>Whether the path is a file: a socket cannot be opened.</summary>
    private static bool IsFile(string path)
    {
        try
        {
            using var file = File.OpenHandle(path);
            return true;
        }
        catch (IOException)
        {
            return false;
        }
    }

    private void Accept()
    {
        Socket taker;
        try
        {
            taker = _door.Accept();
        }
        catch (SocketException exception)
        {
            if (exception.SocketErrorCode is SocketError.TooManyOpenSockets or SocketError.NoBufferSpaceAvailable)
            {
                Thread.Sleep(_pause);
            }

            return;
        }

        if (TryGive(taker))
        {
            _takers.Add(taker);
        }
        else
        {
            taker.Dispose();
        }
    }

    private bool TryGive(Socket taker)
    {
        var (process, user) = Libc.PeerOf(taker);
        var refusal = user != _user ? $"its sockets are for processes of user {_user}, and this is one of user {user}"
            : _takers.Count == MostTakers ? $"{MostTakers} processes have its sockets already"
            : null;
        if (refusal is not null)
        {
            _say($"Refused a process ({process}): {refusal}");
            Libc.TrySend(taker, Encoding.ASCII.GetBytes($"refused: {refusal}\n"), []);
            return false;
        }

        var descriptors = new int[_listeners.Count];
        for (var i = 0; i < descriptors.Length; i++)
        {
            descriptors[i] = (int)_listeners[i].Socket.Handle;
        }

        if (!Libc.TrySend(taker, _words, descriptors))
        {
            return false;
        }

        // 0: the process is in another container.
        _say(process == 0 ? "Sockets given away" : $"Sockets given to process {process}");
        return true;
    }

    /// <summary>A taker has left, or has sent bytes, which is not allowed: it is disconnected.</summary>
    private void Hear(Socket taker)
    {
        _takers.Remove(taker);
        taker.Dispose();
    }

    private void RemovePath()
    {
        try
        {
            File.Delete(_path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The next start replaces it.
        }
    }
}
