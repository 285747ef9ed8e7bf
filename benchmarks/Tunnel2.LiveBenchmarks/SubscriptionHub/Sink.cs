using System.Net;
using System.Net.Sockets;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>
/// The far end of a subscriber's connection: reads every message on the pool and checks that the numbers follow each other.
/// </summary>
internal sealed class Sink : IDisposable
{
    private readonly Socket _far = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly SemaphoreSlim _progress = new(0);
    private readonly Task _reading;
    private long _last;
    private string? _fault;

    public Sink()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        _far.Connect(listener.LocalEndPoint!);
        Near = listener.Accept();
        _reading = ReadAsync();
    }

    public Socket Near { get; }

    /// <summary>Waits until the message of this number has come.</summary>
    /// <exception cref="InvalidOperationException">One was lost, or came twice or out of order.</exception>
    public void WaitFor(long sequence)
    {
        while (Volatile.Read(ref _last) < sequence && _fault is null)
        {
            if (!_progress.Wait(TimeSpan.FromSeconds(30)))
            {
                throw new InvalidOperationException($"Nothing came after message {_last}.");
            }
        }

        if (_fault is { } fault)
        {
            throw new InvalidOperationException(fault);
        }
    }

    public void Dispose()
    {
        Near.Dispose();
        _far.Dispose();
        _reading.Wait();
        _progress.Dispose();
    }

    private async Task ReadAsync()
    {
        await Task.Yield();
        byte[] buffer = new byte[256 * 1024];
        int length = 0;
        try
        {
            while (await _far.ReceiveAsync(buffer.AsMemory(length)) is > 0 and var received)
            {
                length += received;
                int used = Take(buffer.AsSpan(0, length));
                buffer.AsSpan(used, length - used).CopyTo(buffer);
                length -= used;
                _progress.Release();
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The run is over.
        }
    }

    /// <summary>Takes whole frames: all are short enough for a length of 16 bits.</summary>
    private int Take(ReadOnlySpan<byte> bytes)
    {
        int used = 0;
        while (bytes.Length - used >= 4)
        {
            int head = bytes[used + 1] == 126 ? 4 : 2;
            int size = head + (head == 4 ? (bytes[used + 2] << 8) | bytes[used + 3] : bytes[used + 1]);
            if (bytes.Length - used < size)
            {
                break;
            }

            OnFrame(bytes.Slice(used + head, size - head));
            used += size;
        }

        return used;
    }

    private void OnFrame(ReadOnlySpan<byte> frame)
    {
        ReadOnlySpan<byte> mark = "\"seq\":"u8;
        long sequence = 0;
        foreach (byte digit in frame[(frame.IndexOf(mark) + mark.Length)..])
        {
            if (!char.IsAsciiDigit((char)digit))
            {
                break;
            }

            sequence = (sequence * 10) + digit - '0';
        }

        // A snapshot is as old as the last message that was left out for it.
        bool isSnapshot = frame.StartsWith("{\"type\":\"snapshot\""u8);
        if (isSnapshot ? sequence < _last : sequence != _last + 1)
        {
            _fault ??= $"{(isSnapshot ? "A snapshot" : "A message")} {sequence} came after {_last}.";
        }

        Volatile.Write(ref _last, sequence);
    }
}
