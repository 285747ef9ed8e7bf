using System.Net.Sockets;
using System.Text.Json;

namespace Tunnel2.Client.States;

/// <summary>
/// Says over a Unix socket what the process does: a caller gets one JSON object and the end of the connection, and nothing is read from it.
/// One caller is served at a time, with a limit. An agent runs without it where it cannot be made.
/// </summary>
internal sealed class StatusSocket : IAsyncDisposable
{
    private const int Waiting = 16;

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan _rest = TimeSpan.FromMilliseconds(100);

    private readonly CancellationTokenSource _stop = new();
    private readonly Socket _listener;
    private readonly string _path;
    private readonly StatusBoard _board;
    private readonly TimeProvider _time;
    private readonly Task _serving;

    private StatusSocket(Socket listener, string path, StatusBoard board, TimeProvider time)
    {
        _listener = listener;
        _path = path;
        _board = board;
        _time = time;
        _serving = Task.Run(ServeAsync);
    }

    /// <summary>Begins to listen; null: there is no place for the socket, or it is not available.</summary>
    public static StatusSocket? TryStart(Func<string, string?> environment, StatusBoard board, TimeProvider time)
    {
        Socket? listener = null;
        try
        {
            if (StatusFolder.Prepare(environment) is not { } path)
            {
                return null;
            }

            // An older process of this number has left it.
            File.Delete(path);
            listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            listener.Bind(new UnixDomainSocketEndPoint(path));
            if (!OperatingSystem.IsWindows())
            {
                File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite);
            }

            listener.Listen(Waiting);
            return new StatusSocket(listener, path, board, time);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or SocketException or ArgumentException)
        {
            listener?.Dispose();
            return null;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Dispose();
        await _serving;
        _stop.Dispose();
        try
        {
            File.Delete(_path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The next caller removes it.
        }
    }

    private async Task ServeAsync()
    {
        try
        {
            while (true)
            {
                try
                {
                    using Socket caller = await _listener.AcceptAsync(_stop.Token);
                    await AnswerAsync(caller);
                }
                catch (SocketException) when (!_stop.IsCancellationRequested)
                {
                    // The caller has gone, or there is no descriptor for it: the next one.
                    await Task.Delay(_rest, _time, _stop.Token);
                }
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException or SocketException)
        {
            // The agent ends.
        }
    }

    private async Task AnswerAsync(Socket caller)
    {
        using var text = new MemoryStream();
        using (var json = new Utf8JsonWriter(text))
        {
            _board.Read().Write(json);
        }

        using var limit = new CancellationTokenSource(_patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, _stop.Token);
        try
        {
            ReadOnlyMemory<byte> rest = text.GetBuffer().AsMemory(0, (int)text.Length);
            while (rest.Length > 0)
            {
                rest = rest[await caller.SendAsync(rest, SocketFlags.None, either.Token)..];
            }

            caller.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is OperationCanceledException or SocketException)
        {
            // The caller was too slow, or has gone.
        }
    }
}
