using System.Buffers;
using System.Buffers.Text;
using System.Globalization;
using System.IO.Pipelines;
using System.Text;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Marks a connection of the admin listener, and is between it and Kestrel. What Kestrel refuses by itself, such as a target with
/// <c>%00</c> or a head that is too large, has a status and no body: here it gets the one that all errors of the API have, or for HEAD its
/// fields alone. What is written while a request is served passes at once. Used by Kestrel's one task for the connection.
/// </summary>
internal sealed class AdminRefusals : PipeWriter, IDuplexPipe
{
    private const int StatusDigits = 3;

    private readonly IDuplexPipe _transport;
    private readonly AdminRequestLines _input;
    private ArrayBufferWriter<byte>? _held;

    /// <param name="transport">The connection.</param>
    public AdminRefusals(IDuplexPipe transport)
    {
        _transport = transport;
        _input = new AdminRequestLines(transport.Input);
    }

    /// <summary>Whether a request is served: then nothing is Kestrel's own.</summary>
    public bool IsServing
    {
        get;
        set
        {
            field = value;
            _input.IsServing = value;
        }
    }

    /// <inheritdoc/>
    public PipeReader Input => _input;

    /// <inheritdoc/>
    public PipeWriter Output => this;

    /// <inheritdoc/>
    public override bool CanGetUnflushedBytes => _transport.Output.CanGetUnflushedBytes;

    /// <inheritdoc/>
    public override long UnflushedBytes => _transport.Output.UnflushedBytes + (_held?.WrittenCount ?? 0);

    private static ReadOnlySpan<byte> StatusLine => "HTTP/1.1 "u8;

    private static ReadOnlySpan<byte> NoBody => "Content-Length: 0\r\n"u8;

    private ArrayBufferWriter<byte> Held => _held ??= new ArrayBufferWriter<byte>();

    /// <inheritdoc/>
    public override Memory<byte> GetMemory(int sizeHint = 0) =>
        IsServing ? _transport.Output.GetMemory(sizeHint) : Held.GetMemory(sizeHint);

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int sizeHint = 0) =>
        IsServing ? _transport.Output.GetSpan(sizeHint) : Held.GetSpan(sizeHint);

    /// <inheritdoc/>
    public override void Advance(int bytes)
    {
        if (IsServing)
        {
            _transport.Output.Advance(bytes);
        }
        else
        {
            Held.Advance(bytes);
        }
    }

    /// <inheritdoc/>
    public override void CancelPendingFlush() => _transport.Output.CancelPendingFlush();

    /// <inheritdoc/>
    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        Release();
        return _transport.Output.FlushAsync(cancellationToken);
    }

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        Release();
        _transport.Output.Complete(exception);
    }

    private void Release()
    {
        if (_held is not { } held)
        {
            return;
        }

        _held = null;
        var head = held.WrittenSpan;
        var length = head.IndexOf(NoBody);
        if (length < 0
            || !head.StartsWith(StatusLine)
            || !Utf8Parser.TryParse(head.Slice(StatusLine.Length, StatusDigits), out int status, out _)
            || status < StatusCodes.Status400BadRequest)
        {
            _transport.Output.Write(head);
            return;
        }

        var body = AdminProblem.Render(
            status, "http", "The request is none of HTTP that is read here: its target, its head or the time it took is to blame.").Span;
        _transport.Output.Write(head[..length]);
        _transport.Output.Write(Encoding.ASCII.GetBytes(string.Create(
            CultureInfo.InvariantCulture,
            $"Content-Length: {body.Length}\r\nContent-Type: {AdminProblem.ContentType}\r\nCache-Control: no-store\r\n")));
        _transport.Output.Write(head[(length + NoBody.Length)..]);
        if (!_input.IsHead)
        {
            _transport.Output.Write(body);
        }
    }
}
