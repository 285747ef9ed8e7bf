using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// A non-blocking socket that a loop watches, registered once and edge-triggered. It remembers the kernel's reports and makes no call whose
/// result is known. It receives only after an event reported data, and a short receive means that there is no more. It sends at once, and
/// after a full buffer only when an event reported room.
/// </summary>
/// <remarks>
/// Thread-safe: every call that uses the descriptor holds <see cref="Gate"/>, also the close, so no call uses a descriptor number that
/// already belongs to another socket. Calls return the count, or the negative of the error (<see cref="Errno"/>).
/// </remarks>
internal sealed unsafe partial class EpollSocket : EpollHandle
{
    private const uint Interest =
        EpollEvents.In | EpollEvents.Priority | EpollEvents.Out | EpollEvents.ReadHangUp | EpollEvents.EdgeTriggered;

    private readonly ISocketEvents _events;
    private EpollLoop _loop;
    private int _descriptor;
    private bool _readable;
    private bool _writable;
    private bool _ending;
    private bool _failed;
    private bool _isUrgent;
    private int _brokenBy;

    /// <summary>Takes over a non-blocking descriptor; <see cref="Register"/> makes the loop watch it.</summary>
    /// <param name="loop">The loop.</param>
    /// <param name="descriptor">The descriptor; the socket closes it.</param>
    /// <param name="events">Receives the events.</param>
    /// <param name="connected">Whether it is connected already, so that a send may be tried.</param>
    public EpollSocket(EpollLoop loop, int descriptor, ISocketEvents events, bool connected = true)
    {
        _loop = loop;
        _descriptor = descriptor;
        _events = events;
        _writable = connected;
    }

    /// <summary>Its current loop. From any thread.</summary>
    public EpollLoop Loop => Volatile.Read(ref _loop);

    /// <summary>Guards the descriptor and the socket's state. Users may guard their own state of the socket with it too.</summary>
    public Lock Gate { get; } = new();

    /// <summary>Whether a receive would be tried.</summary>
    public bool IsReadable => _readable;

    public bool IsClosed => _descriptor < 0;

    /// <summary>
    /// Whether the kernel has reported an error: the peer reset the connection, or did not answer for too long. From any thread.
    /// </summary>
    public bool HasFailed => Volatile.Read(ref _failed);

    /// <summary>Makes the loop watch the socket. Closes it on failure.</summary>
    /// <returns>0, or the error.</returns>
    public int Register()
    {
        lock (Gate)
        {
            var errno = _descriptor < 0 ? Errno.Canceled : _loop.Register(this, _descriptor, Interest);
            if (errno != 0)
            {
                CloseUnsynchronized();
            }

            return errno;
        }
    }

    /// <summary>
    /// Moves to another loop: the descriptor is removed from one and registered with the other, which gets events for everything that is
    /// there. An event that the old loop has already fetched is dropped. One that it is just handling is completed there, like a call from
    /// another thread.
    /// </summary>
    /// <param name="loop">The other loop.</param>
    /// <returns>0, or the error. After an error the socket is closed, and the caller must notify its users.</returns>
    public int MoveToUnsynchronized(EpollLoop loop)
    {
        if (_descriptor < 0)
        {
            return Errno.Canceled;
        }

        var former = _loop;
        former.Unregister(this, _descriptor);
        Volatile.Write(ref _loop, loop);
        var errno = loop.Register(this, _descriptor, Interest);
        former.Statistics.MovedTo(loop.Statistics);
        if (errno != 0)
        {
            CloseUnsynchronized();
        }

        return errno;
    }

    /// <inheritdoc/>
    public override void OnEvents(uint mask)
    {
        const uint Broken = EpollEvents.Error | EpollEvents.HangUp;
        bool readable, writable, ended;
        lock (Gate)
        {
            if (_descriptor < 0)
            {
                return;
            }

            _isUrgent |= (mask & EpollEvents.Priority) != 0;
            readable = (mask & (EpollEvents.In | EpollEvents.ReadHangUp | Broken)) != 0;
            writable = (mask & (EpollEvents.Out | Broken)) != 0 && !_writable;
            ended = (mask & (EpollEvents.ReadHangUp | Broken)) != 0 && !_ending;
            _readable |= readable;
            _writable |= writable;
            _ending |= ended;
            _failed |= (mask & EpollEvents.Error) != 0;
        }

        if (readable)
        {
            _events.OnReadable();
        }

        if (writable)
        {
            _events.OnWritable();
        }

        if (ended)
        {
            _events.OnPeerClosed();
        }
    }

    /// <inheritdoc/>
    public override void OnLoopStopped()
    {
        Close();
        _events.OnClosedByLoop();
    }

    /// <inheritdoc/>
    public override void OnLoopLost()
    {
        if (!Gate.TryEnter())
        {
            return;
        }

        bool wasOpen;
        try
        {
            wasOpen = Close(reset: true);
        }
        finally
        {
            Gate.Exit();
        }

        if (wasOpen)
        {
            _events.OnClosedByLoop();
        }
    }

    /// <inheritdoc/>
    public override void OnFault()
    {
        Close(reset: true);
        _events.OnClosedByLoop();
    }

    /// <summary>Receives the available bytes.</summary>
    /// <returns>
    /// The number of bytes; 0 at the peer's orderly end; negative: the error, <see cref="Errno.Again"/> when there are none.
    /// </returns>
    public int Receive(Span<byte> buffer)
    {
        lock (Gate)
        {
            return ReceiveUnsynchronized(buffer);
        }
    }

    /// <summary>Lets the next receive call the kernel, although no event has reported data.</summary>
    public void AskAgainUnsynchronized() => _readable = true;

    /// <inheritdoc cref="Receive"/>
    public int ReceiveUnsynchronized(Span<byte> buffer)
    {
        if (_descriptor < 0)
        {
            return -Errno.Canceled;
        }

        if (!_readable)
        {
            return -Errno.Again;
        }

        fixed (byte* pointer = buffer)
        {
            while (true)
            {
                var count = (int)Libc.Receive(_descriptor, pointer, (nuint)buffer.Length, 0);
                if (count == 0 && buffer.Length > 0 && _brokenBy != 0)
                {
                    return -_brokenBy;
                }

                if (count >= 0)
                {
                    // Short: the buffer is empty, and later bytes are a new event. But an end that was announced must still be read, and
                    // a receive ends at the mark of an urgent byte, with more after it.
                    _readable = count == buffer.Length || count == 0 || _ending || _isUrgent;
                    return count;
                }

                var errno = Errno.Last;
                if (errno == Errno.Interrupted)
                {
                    continue;
                }

                if (errno == Errno.Again)
                {
                    _readable = false;
                }

                RememberUnsynchronized(errno);
                return -errno;
            }
        }
    }

    /// <summary>Sends as many bytes as there is room for.</summary>
    /// <returns>The number of bytes, at least 1; negative: the error, <see cref="Errno.Again"/> when there is no room.</returns>
    public int Send(ReadOnlySpan<byte> bytes)
    {
        lock (Gate)
        {
            return SendUnsynchronized(bytes);
        }
    }

    /// <inheritdoc cref="Send"/>
    public int SendUnsynchronized(ReadOnlySpan<byte> bytes)
    {
        if (_descriptor < 0)
        {
            return -Errno.Canceled;
        }

        if (!_writable)
        {
            return -Errno.Again;
        }

        fixed (byte* pointer = bytes)
        {
            while (true)
            {
                var count = (int)Libc.Send(_descriptor, pointer, (nuint)bytes.Length, Libc.MsgNoSignal);
                if (count >= 0)
                {
                    // The kernel took fewer bytes: it has no room, and reports when it has.
                    _writable = count == bytes.Length;
                    return count;
                }

                var errno = Errno.Last;
                if (errno == Errno.Interrupted)
                {
                    continue;
                }

                if (errno == Errno.Again)
                {
                    _writable = false;
                }

                RememberUnsynchronized(errno);
                return -errno;
            }
        }
    }

    /// <summary>Whether neither bytes nor an end have arrived. Costs a system call.</summary>
    public bool IsIdleAndOpen()
    {
        lock (Gate)
        {
            if (_descriptor < 0 || _ending || PeekUnsynchronized() != -Errno.Again)
            {
                return false;
            }

            // Empty, also if the last receive left this open: later bytes are a new event.
            _readable = false;
            return true;
        }
    }

    /// <summary>
    /// Whether neither bytes nor an end had arrived a millisecond ago. Costs a system call only if the loop has not looked since then.
    /// </summary>
    public bool WasIdleAndOpen()
    {
        lock (Gate)
        {
            return _descriptor >= 0 && !_readable && !_ending && _loop.KnowsOfNothingFor(this) || IsIdleAndOpen();
        }
    }

    /// <summary>Whether unreceived bytes have arrived, and not only an end. Costs a system call.</summary>
    public bool HasBytes()
    {
        lock (Gate)
        {
            return _descriptor >= 0 && PeekUnsynchronized() > 0;
        }
    }

    /// <summary>Ends the sending direction in order, after all sent bytes.</summary>
    public void ShutdownSend()
    {
        lock (Gate)
        {
            if (_descriptor >= 0)
            {
                _ = Libc.Shutdown(_descriptor, Libc.ShutdownWrite);
            }
        }
    }

    /// <summary>The number of sent bytes that the peer's system has not acknowledged.</summary>
    public int GetUndelivered()
    {
        lock (Gate)
        {
            int count = 0;
            return _descriptor >= 0 && Libc.Control(_descriptor, Libc.OutputQueue, &count) == 0 ? count : 0;
        }
    }

    /// <summary>Closes the descriptor, once. It does not notify waiting code: the socket's user does that.</summary>
    /// <param name="reset">Whether to drop unsent bytes and send the peer a reset.</param>
    /// <returns>Whether it was open.</returns>
    public bool Close(bool reset = false)
    {
        lock (Gate)
        {
            if (reset && _descriptor >= 0)
            {
                // struct linger { on, seconds }.
                var linger = stackalloc int[] { 1, 0 };
                _ = Libc.SetSocketOption(_descriptor, Libc.SolSocket, Libc.SoLinger, linger, 2 * sizeof(int));
            }

            return CloseUnsynchronized();
        }
    }

    /// <inheritdoc cref="Close"/>
    public bool CloseUnsynchronized()
    {
        if (_descriptor < 0)
        {
            return false;
        }

        _loop.Unregister(this);
        _ = Libc.Close(_descriptor);
        _descriptor = -1;
        return true;
    }

    private int PeekUnsynchronized()
    {
        byte peeked;
        var count = (int)Libc.Receive(_descriptor, &peeked, 1, Libc.MsgPeek | Libc.MsgDontWait);
        if (count >= 0)
        {
            return count;
        }

        var errno = Errno.Last;
        RememberUnsynchronized(errno);
        return -errno;
    }

    /// <summary>
    /// The kernel reports a break to the first call after it, and shows an orderly end to the others. A break that a send has met must not
    /// let what was received pass as complete. A broken pipe is no such news: the peer's end, or our own, came before it.
    /// </summary>
    private void RememberUnsynchronized(int errno)
    {
        if (_brokenBy == 0 && errno is not (0 or Errno.Again or Errno.Interrupted or Errno.BrokenPipe))
        {
            _brokenBy = errno;
        }
    }
}
