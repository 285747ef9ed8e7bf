using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Net;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>
/// A visitor in memory: it asks what the test wants, takes its answer or not, and leaves when the test says so. Everything that the
/// forwarder does to it is a line of <see cref="Log"/>.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Its source of cancellation has no timer and no wait handle.")]
internal sealed class ScriptedVisitor : VisitorExchange
{
    private readonly Lock _gate = new();
    private readonly List<string> _log = [];
    private readonly StringBuilder _body = new();
    private readonly CancellationTokenSource _left = new();
    private readonly Pipe _pipe;
    private readonly RequestBodyReader _reader;
    private TaskCompletionSource<bool>? _taking;
    private bool _hasHead;
    private bool _hasStarted;
    private bool _isGone;
    private bool _isAwaited;
    private int _status;

    /// <param name="unread">How many bytes of the request's body may wait unread before the visitor is held up.</param>
    public ScriptedVisitor(int unread = 64 * 1024)
    {
        _pipe = new Pipe(new PipeOptions(
            readerScheduler: PipeScheduler.Inline, writerScheduler: PipeScheduler.Inline, pauseWriterThreshold: unread,
            resumeWriterThreshold: unread / 2, useSynchronizationContext: false));
        _reader = new RequestBodyReader(_pipe.Reader);
    }

    public override string Method => Asks;

    /// <summary>The method, where it is another one than GET.</summary>
    public string Asks { get; init; } = "GET";

    public override string Authority => Host;

    /// <summary>The host, where it is another one.</summary>
    public string Host { get; init; } = "web.localhost";

    public override string Target => Path;

    /// <summary>Path and query, where they are others.</summary>
    public string Path { get; init; } = "/";

    public override IPAddress? RemoteAddress => From;

    /// <summary>The peer's address, where it is another one.</summary>
    public IPAddress From { get; init; } = IPAddress.Loopback;

    /// <summary>What a trusted proxy says about where it came from.</summary>
    public string ForwardedFor { get; init; } = "";

    public override string RequestId => "R1";

    public override bool HasBody => Sends;

    /// <summary>Whether a body follows the head.</summary>
    public bool Sends { get; init; }

    public override bool ExpectsContinue => Waits;

    /// <summary>Whether it sends its body only after a 100.</summary>
    public bool Waits { get; init; }

    public override bool IsUpgrade => Upgrade is not null;

    /// <summary>What its connection becomes with a 101; null: it does not ask for one.</summary>
    public ScriptedUpgrade? Upgrade { get; init; }

    public override ProxyError? Fault => Flaw;

    /// <summary>What is wrong with its request, or null.</summary>
    public ProxyError? Flaw { get; init; }

    /// <summary>The fields of its request.</summary>
    public (string Name, string Value)[] Fields { get; init; } = [];

    /// <summary>The trailers behind its body, or null.</summary>
    public (string Name, string Value)[]? Trailers { get; init; }

    /// <summary>Whether its trailers break a rule.</summary>
    public bool HasBadTrailers { get; init; }

    /// <summary>Whether its front can pass on interim responses.</summary>
    public bool TakesInterim { get; init; } = true;

    /// <summary>Whether its front can make a response of any head.</summary>
    public bool TakesHead { get; set; } = true;

    /// <summary>Whether a broken body can still be answered.</summary>
    public bool CanBeAnswered { get; init; } = true;

    /// <summary>What is thrown where the request's block is to be written.</summary>
    public Exception? FaultOfBlock { get; init; }

    /// <summary>What is thrown where the response's head is to be set.</summary>
    public Exception? FaultOfHead { get; init; }

    /// <summary>What is thrown where bytes of the response's body are to be written.</summary>
    public Exception? FaultOfBody { get; init; }

    /// <summary>The event loop that its connection lives on, and where it may move to.</summary>
    public PipeScheduler? Loop { get; init; }

    /// <summary>Whether its connection can move to another event loop.</summary>
    public bool IsMovable { get; init; }

    /// <summary>What it holds while its request waits.</summary>
    public long BytesHeld { get; init; } = 1000;

    /// <summary>Called where the request's target is decided on, just before its stream is opened.</summary>
    public Action? OnForward { get; set; }

    /// <summary>Where it was moved to.</summary>
    public PipeScheduler? MovedTo { get; private set; }

    /// <summary>What is forwarded of its target.</summary>
    public string? Forwarded { get; private set; }

    /// <summary>What was done to it, in order.</summary>
    public IReadOnlyList<string> Log
    {
        get
        {
            lock (_gate)
            {
                return [.. _log];
            }
        }
    }

    /// <summary>The fields of the final head that it got.</summary>
    public string ResponseFields { get; private set; } = "";

    /// <summary>The bytes of the response's body.</summary>
    public string Body => _body.ToString();

    /// <summary>Whether a caller waits until it takes what is sent.</summary>
    public bool IsWaitedFor => _isAwaited && _taking is { Task.IsCompleted: false };

    public override PipeReader RequestBody => _reader;

    /// <summary>How often the reading of its body was asked to end.</summary>
    public int StopsOfReading { get; private set; }

    public override bool CanAnswerBrokenBody => CanBeAnswered;

    public override long BytesHeldUnread => BytesHeld;

    public override bool HasRequestTrailers => Trailers is not null;

    public override bool HasResponseStarted => _hasStarted;

    public override bool ResponseMayHaveBody => Method != "HEAD" && _status is not (204 or 304);

    public override CancellationToken VisitorLeft => _left.Token;

    public override PipeScheduler? Home => MovedTo ?? Loop;

    public override RequestAddress Address => new(Authority, Target);

    public override bool TryMoveTo(PipeScheduler home)
    {
        MovedTo = IsMovable ? home : null;
        return IsMovable;
    }

    public override int CopyForwardedFor(Span<byte> destination) =>
        Encoding.Latin1.GetBytes(ForwardedFor.AsSpan(0, Math.Min(ForwardedFor.Length, destination.Length)), destination);

    public override int CopyField(ReadOnlySpan<byte> name, Span<byte> destination)
    {
        var text = Encoding.Latin1.GetString(name);
        string[] values =
            [.. Fields.Where(field => field.Name.Equals(text, StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value)];
        return values is [var only] && only.Length <= destination.Length ? Encoding.Latin1.GetBytes(only, destination) : -1;
    }

    public override string[] FieldValues(string name, bool withLookalikes) =>
        [.. Fields.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value)];

    public override void StopReadingBody()
    {
        StopsOfReading++;
        base.StopReadingBody();
    }

    public override void Forward(in PathAddress path)
    {
        Forwarded = path.GetRest(Target);
        OnForward?.Invoke();
    }

    public override void WriteRequestBlock(ref HeaderBlockWriter writer)
    {
        if (FaultOfBlock is { } fault)
        {
            throw fault;
        }

        writer.BeginRequest(IsUpgrade ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None, Method, "http", Authority, Target);
        foreach (var (name, value) in Fields)
        {
            writer.AddField(name, value);
        }
    }

    public override bool TryWriteRequestTrailers(ref HeaderBlockWriter writer)
    {
        foreach (var (name, value) in Trailers!)
        {
            writer.AddField(name, value);
        }

        return !HasBadTrailers;
    }

    public override ValueTask SendContinueAsync()
    {
        Add("continue");
        return default;
    }

    public override bool WriteInterim(scoped in HeaderBlock head)
    {
        if (TakesInterim)
        {
            Add($"interim {head.Status}");
        }

        return TakesInterim;
    }

    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength)
    {
        if (FaultOfHead is { } fault)
        {
            throw fault;
        }

        if (!TakesHead)
        {
            return false;
        }

        _status = head.Status;
        _hasHead = true;
        var fields = new List<string>();
        foreach (var field in head.Fields)
        {
            fields.Add($"{Encoding.Latin1.GetString(field.Name)}: {Encoding.Latin1.GetString(field.Value)}");
        }

        ResponseFields = string.Join('|', fields);
        Add(declaresLength ? $"head {head.Status} with length" : $"head {head.Status}");
        return true;
    }

    public override void WriteBody(ReadOnlySpan<byte> data)
    {
        if (FaultOfBody is { } fault)
        {
            throw fault;
        }

        _body.Append(Encoding.Latin1.GetString(data));
        Add($"body {data.Length}");
    }

    public override ValueTask<bool> SendBodyAsync(ReadOnlyMemory<byte> data)
    {
        _body.Append(Encoding.Latin1.GetString(data.Span));
        Add($"send {data.Length}");
        return TakeAsync();
    }

    public override ValueTask<bool> FlushAsync()
    {
        Add("flush");
        return TakeAsync();
    }

    public override void SendTrailers(scoped in HeaderBlock trailers)
    {
        foreach (var field in trailers.Fields)
        {
            Add($"trailer {Encoding.Latin1.GetString(field.Name)}: {Encoding.Latin1.GetString(field.Value)}");
        }
    }

    public override void CompleteResponse() => Add("complete");

    public override ValueTask<UpgradedConnection> UpgradeAsync()
    {
        Add("upgrade");
        _hasStarted = true;
        return new(Upgrade!);
    }

    public override async Task WriteErrorAsync(ProxyError error, ErrorDetails details)
    {
        Add(details.RetryAfterSeconds is { } seconds ? $"error {error}, again in {seconds} s" : $"error {error}");
        _hasStarted = true;
        await TakeAsync();
    }

    public override async Task WriteAnswerAsync(ErrorResponse answer)
    {
        Add($"answer {answer.Status}");
        _hasStarted = true;
        Answer = answer;
        await TakeAsync();
    }

    /// <summary>The answer that it got in place of a service's, or null.</summary>
    public ErrorResponse? Answer { get; private set; }

    /// <summary>Whether it came over HTTPS.</summary>
    public override bool IsSecure => OverTls;

    /// <summary>Whether it comes over HTTPS.</summary>
    public bool OverTls { get; init; }

    public override async ValueTask CutAsync(bool isShort)
    {
        Add(isShort ? "cut short" : "cut");
        await TakeAsync();
    }

    public override void Abort()
    {
        Add("abort");
        Go();
    }

    /// <summary>From now on it takes nothing of what is sent.</summary>
    public void TakeNothing() => _taking = new TaskCompletionSource<bool>();

    /// <summary>It takes everything again.</summary>
    public void TakeAll()
    {
        var taking = _taking;
        _taking = null;
        taking?.TrySetResult(true);
    }

    /// <summary>Sends bytes of its body; they are taken as the forwarder has room.</summary>
    /// <returns>Completes when no more than allowed of them wait unread.</returns>
    public async Task SendAsync(string body, bool end = false)
    {
        var written = _pipe.Writer.WriteAsync(Encoding.Latin1.GetBytes(body));
        if (end)
        {
            EndBody();
        }

        await written;
    }

    /// <summary>Its body is over; with an exception: in no good order.</summary>
    public void EndBody(Exception? exception = null) => _pipe.Writer.Complete(exception);

    /// <summary>The next read of its body returns as cancelled, as one that was cancelled for an earlier stream of the request.</summary>
    public void CancelRead() => _pipe.Reader.CancelPendingRead();

    /// <summary>Makes the next read of its body throw.</summary>
    public void FailRead(Exception exception) => _reader.Fault = exception;

    /// <summary>It leaves: its connection breaks.</summary>
    public void Leave()
    {
        _isGone = true;
        _left.Cancel();
        Go();
    }

    /// <summary>Whether all that it has sent of its body was read.</summary>
    public bool IsBodyRead => _reader.IsRead;

    private void Go()
    {
        _isGone = true;
        _taking?.TrySetResult(false);
        _pipe.Writer.Complete(new IOException("The visitor's connection is gone."));
    }

    private ValueTask<bool> TakeAsync()
    {
        if (_isGone)
        {
            return new(false);
        }

        _hasStarted |= _hasHead;
        _isAwaited = _taking is not null;
        return _taking is { } taking ? new(taking.Task) : new(true);
    }

    private void Add(string line)
    {
        lock (_gate)
        {
            _log.Add(line);
        }
    }

    /// <summary>The reader of the pipe, which knows how much was read.</summary>
    private sealed class RequestBodyReader(PipeReader inner) : PipeReader
    {
        private SequencePosition _end;

        public bool IsRead { get; private set; }

        public Exception? Fault { get; set; }

        public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

        public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
        {
            IsRead = consumed.Equals(_end);
            inner.AdvanceTo(consumed, examined);
        }

        public override void CancelPendingRead() => inner.CancelPendingRead();

        public override void Complete(Exception? exception = null) => inner.Complete(exception);

        public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        {
            if (Fault is { } fault)
            {
                throw fault;
            }

            var read = await inner.ReadAsync(cancellationToken);
            _end = read.Buffer.End;
            return read;
        }

        public override bool TryRead(out ReadResult result) => inner.TryRead(out result);
    }
}
