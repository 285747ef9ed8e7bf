using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <summary>One stream of an <see cref="Http2Visitor"/>.</summary>
internal sealed class Http2VisitorStream(Http2Visitor visitor, int id)
{
    private readonly TaskCompletionSource<List<(string Name, string Value)>> _head = new(
        TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<uint> _reset = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Pipe _data = new(new PipeOptions(pauseWriterThreshold: 0, useSynchronizationContext: false));

    private readonly TaskCompletionSource<int?> _over = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<(string Name, string Value)> _fields = [];

    public int Id => id;

    /// <summary>Bytes that may be sent; the visitor's gate guards it.</summary>
    public long Window { get; set; }

    /// <summary>Whether the server gets credit back for what it sends.</summary>
    public bool IsReading { get; set; }

    /// <summary>Bytes of DATA that came.</summary>
    public long Received => ReceivedBytes.Value;

    /// <summary>The same, to be waited for.</summary>
    public AsyncCounter ReceivedBytes { get; } = new("bytes of the body");

    /// <summary>Interim responses so far.</summary>
    public List<List<(string Name, string Value)>> Interims { get; } = [];

    /// <summary>The same, to be waited for.</summary>
    public AsyncCounter InterimCount { get; } = new("interim responses");

    /// <summary>The final head and the trailers, as they came.</summary>
    public List<List<(string Name, string Value)>> Blocks { get; } = [];

    /// <summary>The response's fields.</summary>
    public Task<List<(string Name, string Value)>> ReadHeadAsync() => _head.Task.WaitAsync(Patience);

    /// <summary>The response's status and fields.</summary>
    public async Task<(int Status, ILookup<string, string> Fields)> ReadAnswerAsync()
    {
        var fields = await ReadHeadAsync();
        var status = Assert.Single(fields, static field => field.Name == ":status").Value;
        return (int.Parse(status, CultureInfo.InvariantCulture), fields.ToLookup(static field => field.Name, static field => field.Value));
    }

    /// <summary>Reads so many bytes.</summary>
    public async Task<byte[]> ReadAsync(int count)
    {
        var read = await _data.Reader.ReadAtLeastAsync(count).AsTask().WaitAsync(Patience);
        Assert.True(read.Buffer.Length >= count, $"The stream ended after {read.Buffer.Length} of {count} bytes.");
        var bytes = read.Buffer.Slice(0, count).ToArray();
        _data.Reader.AdvanceTo(read.Buffer.GetPosition(count));
        return bytes;
    }

    /// <summary>Reads to END_STREAM; a reset before it throws.</summary>
    public async Task<byte[]> ReadToEndAsync()
    {
        using var all = new MemoryStream();
        await _data.Reader.CopyToAsync(all).WaitAsync(Patience);
        return all.ToArray();
    }

    /// <summary>Reads until the stream is over, however it ends, or the connection.</summary>
    public async Task<Http2Answer> ReadWholeAsync()
    {
        var reset = await _over.Task.WaitAsync(Patience);
        var body = "";
        try
        {
            body = Encoding.Latin1.GetString(await ReadToEndAsync());
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException)
        {
            // It was cut short.
        }

        var status = _fields.FirstOrDefault(static field => field.Name == ":status").Value ?? "0";
        return new Http2Answer(int.Parse(status, CultureInfo.InvariantCulture), _fields, body, reset, visitor.GoAwayCode);
    }

    /// <summary>Whether RST_STREAM has come, also after the end.</summary>
    public bool WasReset => _reset.Task.IsCompletedSuccessfully;

    /// <summary>Waits for RST_STREAM and returns its code.</summary>
    public Task<uint> WaitForResetAsync() => _reset.Task.WaitAsync(Patience);

    public Task WriteAsync(ReadOnlyMemory<byte> data, bool end = false) => visitor.SendDataAsync(this, data, end).WaitAsync(Patience);

    public Task ResetAsync(uint code) => visitor.ResetAsync(this, code);

    /// <summary>Gives credit again, for what has come and for what will.</summary>
    public Task ReadOnAsync()
    {
        IsReading = true;
        return visitor.GrantAsync(id, (int)Received);
    }

    internal void OnHead(List<(string Name, string Value)> fields, bool isLast)
    {
        if (!isLast && fields is [(":status", ['1', ..]), ..])
        {
            Interims.Add(fields);
            InterimCount.Increment();
            return;
        }

        Blocks.Add(fields);
        _fields.AddRange(fields);
        _head.TrySetResult(fields);
        if (isLast)
        {
            _data.Writer.Complete();
            _over.TrySetResult(null);
        }
    }

    internal void OnData(byte[] payload, bool isLast)
    {
        ReceivedBytes.Add(payload.Length);
        _data.Writer.Write(payload);
        _ = _data.Writer.FlushAsync().AsTask();
        if (isLast)
        {
            _data.Writer.Complete();
            _over.TrySetResult(null);
        }
    }

    internal void OnReset(uint code)
    {
        _reset.TrySetResult(code);
        _over.TrySetResult((int)code);
        OnLost(new IOException($"The stream was reset with {code}."));
    }

    internal void OnLost(Exception failure)
    {
        if (_head.TrySetException(failure))
        {
            _ = _head.Task.Exception;
        }

        if (_reset.TrySetException(failure))
        {
            _ = _reset.Task.Exception;
        }

        _data.Writer.Complete(failure);
        _over.TrySetResult(null);
    }

    private static TimeSpan Patience => TimeSpan.FromSeconds(20);
}
