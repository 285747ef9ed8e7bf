using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// What a caller of the admin listener sends, on its way to Kestrel, which does not say what it refuses: this remembers whether the last
/// request line was one of HEAD. Used by Kestrel's one task for the connection.
/// </summary>
/// <param name="input">What comes from the caller.</param>
internal sealed class AdminRequestLines(PipeReader input) : PipeReader
{
    /// <summary>The end of a line before the method, which Kestrel skips, and a method that is too long to matter.</summary>
    private const int LongestStart = 48;

    /// <summary>Whether the request that Kestrel reads is one of HEAD.</summary>
    public bool IsHead { get; private set; }

    /// <summary>Whether a request is served: what is read then is its body.</summary>
    public bool IsServing
    {
        get;
        set
        {
            field = value;
            IsHead = false;
        }
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        var isRead = input.TryRead(out result);
        if (isRead)
        {
            Look(result.Buffer);
        }

        return isRead;
    }

    /// <inheritdoc/>
    public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        var result = await input.ReadAsync(cancellationToken).ConfigureAwait(false);
        Look(result.Buffer);
        return result;
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => input.AdvanceTo(consumed, examined);

    /// <inheritdoc/>
    public override void CancelPendingRead() => input.CancelPendingRead();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null) => input.Complete(exception);

    /// <inheritdoc/>
    public override ValueTask CompleteAsync(Exception? exception = null) => input.CompleteAsync(exception);

    /// <summary>
    /// Kestrel takes whole lines, so what it has not taken begins with one: a request line has a space after its first word, a field has
    /// none.
    /// </summary>
    private void Look(in ReadOnlySequence<byte> buffer)
    {
        if (IsServing)
        {
            return;
        }

        Span<byte> room = stackalloc byte[LongestStart];
        var start = room[..(int)Math.Min(room.Length, buffer.Length)];
        buffer.Slice(0, start.Length).CopyTo(start);
        start = start.TrimStart("\r\n"u8);
        var space = start.IndexOf((byte)' ');
        if (space > 0 && FieldSyntax.IsToken(start[..space]))
        {
            IsHead = start[..space].SequenceEqual("HEAD"u8);
        }
    }
}
