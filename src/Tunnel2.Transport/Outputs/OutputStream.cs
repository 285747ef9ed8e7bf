using System.Runtime.InteropServices;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Outputs;

/// <summary>
/// Standard output or error, by system calls: the stream of <see cref="Console"/> sends a terminal control sequences of its own, also where
/// <c>NO_COLOR</c> is set, and does not say when the reader of a pipe has left. Never closed. For one writer at a time.
/// </summary>
internal sealed unsafe class OutputStream : Stream
{
    /// <summary>The number of standard output.</summary>
    public const int Standard = 1;

    /// <summary>The number of standard error.</summary>
    public const int Error = 2;

    private const int ForEver = -1;

    private readonly int _descriptor;
    private readonly Action? _closed;
    private bool _isClosed;

    private OutputStream(int descriptor, Action? closed)
    {
        _descriptor = descriptor;
        _closed = closed;
    }

    /// <inheritdoc/>
    public override bool CanRead => false;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override long Length => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Opens it.</summary>
    /// <param name="descriptor">Its number.</param>
    /// <param name="ofSystem">Opens it where there are no such calls.</param>
    /// <param name="closed">
    /// Called once, when its reader has left, as <c>head</c> does; what is written from then on is lost. Null: nothing is called.
    /// </param>
    public static Stream Open(int descriptor, Func<Stream> ofSystem, Action? closed) =>
        OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64
            ? new OutputStream(descriptor, closed)
            : ofSystem();

    /// <inheritdoc/>
    /// <exception cref="IOException">It cannot be written: a full disk, or it is not open.</exception>
    public override void Write(ReadOnlySpan<byte> buffer)
    {
        fixed (byte* bytes = buffer)
        {
            for (int done = 0; done < buffer.Length && !_isClosed;)
            {
                nint count = Libc.Write(_descriptor, bytes + done, (nuint)(buffer.Length - done));
                if (count >= 0)
                {
                    done += (int)count;
                    continue;
                }

                switch (Errno.Last)
                {
                    case Errno.Interrupted:
                        break;
                    case Errno.Again:
                        // Another process that has it, too, wants no waits.
                        var entry = new Libc.PollEntry { Descriptor = _descriptor, Wanted = Libc.PollOut };
                        _ = Libc.Poll(&entry, 1, ForEver);
                        break;
                    case Errno.BrokenPipe:
                        _isClosed = true;
                        _closed?.Invoke();
                        break;
                    case var error:
                        throw new IOException(Marshal.GetPInvokeErrorMessage(error));
                }
            }
        }
    }

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    /// <inheritdoc/>
    public override void Flush()
    {
        // Nothing is kept here.
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();
}
