using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Http2;

/// <content>How the connection begins and ends.</content>
internal sealed partial class Http2Connection
{
    /// <summary>How long an end in order may take.</summary>
    private static readonly TimeSpan _goodbye = TimeSpan.FromSeconds(1);

    private readonly TaskCompletionSource _received = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Begins: sends the preface, and runs until the connection is over.</summary>
    public async Task RunAsync()
    {
        lock (_gate)
        {
            AppendPrefaceUnsynchronized();
        }

        try
        {
            await ReceiveAsync().ConfigureAwait(false);
        }
        catch (IOException)
        {
            // It is over: the streams learn of it below.
        }
        catch (Exception exception)
        {
            // A fault of ours ends this connection and nothing else.
            _faults.Add("connection to an HTTP/2 service", exception);
        }

        _transport.Abort();
        End(Http2ErrorCode.NoError, Http2FailureKind.ConnectionLost);
        _started.TrySetResult(Http2Start.Closed);
        _allows.TrySetResult();
        _received.TrySetResult();
    }

    /// <summary>Ends the connection and all of its streams.</summary>
    public void Abort()
    {
        _transport.Abort();
        End(Http2ErrorCode.NoError, Http2FailureKind.ConnectionLost);
    }

    /// <summary>Ends all streams, says goodbye and closes, once.</summary>
    private void End(Http2ErrorCode code, Http2FailureKind kind)
    {
        List<Http2Stream> readers = [], writers = [];
        lock (_gate)
        {
            if (_isEnded)
            {
                return;
            }

            foreach (var stream in _streams.Values)
            {
                FailUnsynchronized(stream, new Http2Failure(kind, code), out var reads, out var writes);
                if (reads)
                {
                    readers.Add(stream);
                }

                if (writes)
                {
                    writers.Add(stream);
                }
            }

            Http2Frames.WriteGoAway(ReserveUnsynchronized(Http2Frames.LongLength), code);
            _isRetired = true;
            _isEnded = true;
        }

        foreach (var stream in readers)
        {
            stream.Readable.Complete();
        }

        CompleteWrites(writers);
        _ = CloseAsync();
    }

    /// <summary>
    /// Sends what is queued, takes what still comes, and closes: for a second at most. One that gives way had nothing under way: nothing
    /// that could still come is waited for.
    /// </summary>
    private async Task CloseAsync()
    {
        try
        {
            using var limit = new CancellationTokenSource(_goodbye, _time);
            using var abort = limit.Token.UnsafeRegister(static transport => ((IByteTransport)transport!).Abort(), _transport);
            await WhenFlushedAsync().ConfigureAwait(false);
            _transport.ShutdownSend();
            if (!_hasGivenWay)
            {
                await _received.Task.ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException or ObjectDisposedException)
        {
            // It was closed from elsewhere.
        }

        _transport.Abort();
        await _received.Task.ConfigureAwait(false);
        await _transport.DisposeAsync().ConfigureAwait(false);
        lock (_gate)
        {
            ReturnBlockUnsynchronized();
            IsClosed = true;
        }

        Changed?.Invoke();
    }

    private Task WhenFlushedAsync()
    {
        lock (_gate)
        {
            if (!_isFlushing)
            {
                return Task.CompletedTask;
            }

            _flushed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _flushed.Task;
        }
    }

    private void AppendPrefaceUnsynchronized()
    {
        const int Settings = 3 * Http2Frames.SettingLength;
        var room = ReserveUnsynchronized(Http2Frames.Preface.Length + Http2FrameHeader.Size + Settings + Http2Frames.ShortLength);
        Http2Frames.Preface.CopyTo(room);
        room = room[Http2Frames.Preface.Length..];
        new Http2FrameHeader(Settings, Http2FrameType.Settings, Http2FrameFlags.None, 0).Write(room);
        room = room[Http2FrameHeader.Size..];
        Http2Frames.WriteSetting(room, Http2SettingId.EnablePush, 0);
        Http2Frames.WriteSetting(room[Http2Frames.SettingLength..], Http2SettingId.InitialWindowSize, FirstWindow);
        Http2Frames.WriteSetting(
            room[(2 * Http2Frames.SettingLength)..], Http2SettingId.MaxHeaderListSize, ProtocolLimits.MaxHeaderBlockLength);
        Http2Frames.WriteWindowUpdate(room[Settings..], 0, ConnectionWindow - Http2Frames.DefaultWindow);
        _receiveWindow = ConnectionWindow;
    }
}
