using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// The connection to a running <c>tunnel2-ports</c>, which holds the listening sockets for one ProxyEntry after another. It sends one line,
/// <c>tunnel2-ports/1 public uplink</c>, with a descriptor for each name, and then nothing. The connection ends when the holder ends. Not
/// thread-safe.
/// </summary>
internal sealed class ListenerHolder : IDisposable
{
    private const string FirstWord = "tunnel2-ports/1";

    /// <summary>One more than there are names, to detect too many.</summary>
    private const int MaxDescriptors = 5;

    private const int MaxWords = 256;

    /// <summary>How long a start waits for the holder, which may itself be starting.</summary>
    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(30);

    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(100);

    private readonly Socket _socket;
    private (string Name, int Descriptor)[] _descriptors;

    private ListenerHolder(string path, Socket socket, (string Name, int Descriptor)[] descriptors)
    {
        Path = path;
        _socket = socket;
        _descriptors = descriptors;
        Ended = WaitForEndAsync();
    }

    /// <summary>The path of its Unix socket.</summary>
    public string Path { get; }

    /// <summary>Completes when the holder has ended, or this object is disposed of.</summary>
    public Task Ended { get; }

    /// <summary>Connects and receives the sockets.</summary>
    /// <param name="path">The holder's Unix socket.</param>
    /// <param name="patience">How long to try while the holder is not there or does not answer.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="waiting">Called once, with the reason, when it has to wait.</param>
    /// <exception cref="ListenersUnavailableException">The sockets are not available; the message is for the log.</exception>
    public static async Task<ListenerHolder> ConnectAsync(string path, TimeSpan patience, TimeProvider timeProvider, Action<string> waiting)
    {
        if (!OperatingSystem.IsLinux())
        {
            throw Failed(path, "only Linux gives sockets to other processes in the way that this needs");
        }

        var began = timeProvider.GetTimestamp();
        for (var hasSaid = false; ; hasSaid = true)
        {
            var (holder, problem) = await TryConnectAsync(path, patience, timeProvider).ConfigureAwait(false);
            if (holder is not null)
            {
                return holder;
            }

            if (timeProvider.GetElapsedTime(began) >= patience)
            {
                throw Failed(path, $"within {patience.TotalSeconds:0} s: {problem}. Does tunnel2-ports run?");
            }

            if (!hasSaid)
            {
                waiting($"no listening sockets at {path} yet: {problem}; waiting up to {patience.TotalSeconds:0} s for tunnel2-ports");
            }

            await Task.Delay(_pause, timeProvider).ConfigureAwait(false);
        }
    }

    /// <summary>Gives away the descriptors, once.</summary>
    public IReadOnlyList<(string Name, int Descriptor)> TakeDescriptors() => Interlocked.Exchange(ref _descriptors, []);

    /// <inheritdoc/>
    public void Dispose()
    {
        CloseAll(TakeDescriptors().Select(static given => given.Descriptor));
        _socket.Dispose();
    }

    /// <returns>The holder, or the reason why there is none yet.</returns>
    /// <exception cref="ListenersUnavailableException">There will be no sockets.</exception>
    private static async Task<(ListenerHolder? Holder, string Problem)> TryConnectAsync(
        string path, TimeSpan patience, TimeProvider timeProvider)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        ListenerHolder? holder = null;
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path)).ConfigureAwait(false);

            // A receive of no bytes: it completes when bytes have arrived.
            await socket.ReceiveAsync(Memory<byte>.Empty).AsTask().WaitAsync(patience, timeProvider).ConfigureAwait(false);
            return TryTake(path, socket, out holder) ? (holder, "") : (null, "it ended the connection");
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AccessDenied)
        {
            throw Failed(path, "permission denied: tunnel2-ports gives its sockets to processes of its own user only", exception);
        }
        catch (SocketException exception)
        {
            return (null, File.Exists(path) ? exception.Message : "there is nothing");
        }
        catch (TimeoutException)
        {
            return (null, "it does not answer");
        }
        catch (ArgumentException exception)
        {
            throw Failed(path, exception.Message, exception);
        }
        finally
        {
            if (holder is null)
            {
                socket.Dispose();
            }
        }
    }

    /// <summary>Reads the answer. It arrives in one piece, because it was sent in one piece and is short.</summary>
    /// <returns>False when the connection has ended instead.</returns>
    private static bool TryTake(string path, Socket socket, [NotNullWhen(true)] out ListenerHolder? holder)
    {
        holder = null;
        Span<byte> bytes = stackalloc byte[MaxWords];
        Span<int> descriptors = stackalloc int[MaxDescriptors];
        var (length, count, isWhole) = DescriptorMessage.Receive(socket, bytes, descriptors);
        if (length == 0)
        {
            return false;
        }

        var line = Encoding.ASCII.GetString(bytes[..length]);
        var words = line.TrimEnd('\n').Split(' ');
        if (isWhole && line.EndsWith('\n') && words[0] == FirstWord && words.Length == count + 1)
        {
            var given = new (string Name, int Descriptor)[count];
            for (var i = 0; i < count; i++)
            {
                given[i] = (words[i + 1], descriptors[i]);
            }

            holder = new ListenerHolder(path, socket, given);
            return true;
        }

        CloseAll(descriptors[..count].ToArray());
        var said = SettingsErrorFormatter.Quote(PlainText.Clean(line.TrimEnd('\n'), maxLength: MaxWords));
        throw Failed(
            path,
            words[0] == FirstWord
                ? $"the answer {said} came with {(isWhole ? "" : "more than ")}{count} sockets"
                : $"the answer was {said}");
    }

    private async Task WaitForEndAsync()
    {
        var unexpected = new byte[64];
        try
        {
            while (await _socket.ReceiveAsync(unexpected).ConfigureAwait(false) > 0)
            {
                // Unexpected bytes are ignored: only the end of the connection counts.
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The holder was killed, or this object was disposed of.
        }
    }

    private static void CloseAll(IEnumerable<int> descriptors)
    {
        foreach (var descriptor in descriptors)
        {
            new SafeSocketHandle(descriptor, ownsHandle: true).Dispose();
        }
    }

    private static ListenersUnavailableException Failed(string path, string reason, Exception? inner = null) =>
        new($"no listening sockets from {path} ({SettingKeys.Section}:{SettingKeys.ListenersFrom}): {reason}", inner);
}
