using System.Runtime.InteropServices;

namespace Tunnel2.Client.Terminals;

/// <summary>
/// The terminal of this process, by system calls: <see cref="Console"/> would change its settings for the whole life of the process, read
/// from the background, and wait for a terminal that takes nothing.
/// </summary>
internal sealed unsafe class LinuxTerminal : ITerminal
{
    private const int UsualColumns = 80;
    private const int UsualRows = 24;
    private const int MostColumns = 1000;
    private const int MostRows = 500;

    /// <summary>tcsetattr: at once, without waiting for output that the terminal does not take.</summary>
    private const int AtOnce = 0;

    /// <summary>tcflush: what was written.</summary>
    private const int OutputQueue = 1;

    // struct termios: c_iflag, c_oflag, c_cflag and c_lflag with 4 bytes each, c_line, c_cc.
    private const int LocalFlags = 12;
    private const int ControlCharacters = 17;
    private const int MostWait = ControlCharacters + 5;
    private const int LeastKeys = ControlCharacters + 6;
    private const uint Canonical = 0x2;
    private const uint Echo = 0x8 | 0x10 | 0x20 | 0x40;
    private const uint Extended = 0x8000;
    private const uint FlowControl = 0x400;

    private readonly byte[] _modes;
    private readonly int _output;
    private bool _hasInput;
    private bool _isRaw;

    private LinuxTerminal(byte[] modes, int output, bool hasInput)
    {
        _modes = modes;
        _output = output;
        _hasInput = hasInput;
    }

    /// <inheritdoc/>
    public (int Columns, int Rows) Size
    {
        get
        {
            (int columns, int rows) = TerminalCalls.SizeOf(TerminalCalls.StandardOutput);
            return (columns == 0 ? UsualColumns : Math.Min(columns, MostColumns), rows == 0 ? UsualRows : Math.Min(rows, MostRows));
        }
    }

    /// <inheritdoc/>
    public bool IsForeground => IsOwn();

    /// <summary>Opens it.</summary>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <returns>Null if nothing can be drawn: another system, no terminal, a dumb one, or a process in the background.</returns>
    public static LinuxTerminal? TryOpen(Func<string, string?> environment)
    {
        if (!OperatingSystem.IsLinux()
            || RuntimeInformation.ProcessArchitecture is not (Architecture.X64 or Architecture.Arm64)
            || environment("TERM") is null or "" or "dumb" or "unknown"
            || TerminalCalls.IsTerminal(TerminalCalls.StandardOutput) != 1)
        {
            return null;
        }

        var modes = new byte[TerminalCalls.ModesSize];
        fixed (byte* at = modes)
        {
            if (TerminalCalls.GetModes(TerminalCalls.StandardOutput, at) != 0)
            {
                return null;
            }
        }

        if (!IsOwn())
        {
            return null;
        }

        // Opened again, so that not waiting for it is the business of this process alone: the shell shares standard output. Where that is
        // not allowed (another user's terminal, after su), writes follow poll and wait only in between.
        int own = TerminalCalls.Open(
            "/proc/self/fd/1",
            TerminalCalls.WriteOnly | TerminalCalls.NonBlocking | TerminalCalls.NoControllingTerminal | TerminalCalls.CloseOnExec);
        return new LinuxTerminal(
            modes,
            own < 0 ? TerminalCalls.StandardOutput : own,
            TerminalCalls.IsTerminal(TerminalCalls.StandardInput) == 1);
    }

    /// <inheritdoc/>
    public void EnterRaw()
    {
        if (!_hasInput)
        {
            return;
        }

        byte* raw = stackalloc byte[TerminalCalls.ModesSize];
        _modes.CopyTo(new Span<byte>(raw, TerminalCalls.ModesSize));
        *(uint*)(raw + LocalFlags) &= ~(Canonical | Echo | Extended);

        // Ctrl+S would stop the picture, and give no sign of it.
        *(uint*)raw &= ~FlowControl;
        raw[MostWait] = 0;
        raw[LeastKeys] = 1;
        _isRaw = TerminalCalls.SetModes(TerminalCalls.StandardInput, AtOnce, raw) == 0;
    }

    /// <inheritdoc/>
    public void LeaveRaw()
    {
        if (!_isRaw)
        {
            return;
        }

        _isRaw = false;

        // The terminal is the shell's; and a process in the background would be stopped by the call.
        if (!IsForeground)
        {
            return;
        }

        fixed (byte* at = _modes)
        {
            _ = TerminalCalls.SetModes(TerminalCalls.StandardInput, AtOnce, at);
        }
    }

    /// <inheritdoc/>
    public int Read(Span<byte> keys, TimeSpan wait)
    {
        if (!_hasInput)
        {
            return -1;
        }

        switch (Wait(TerminalCalls.StandardInput, TerminalCalls.PollIn, wait))
        {
            case 0:
                return 0;
            case < 0:
                _hasInput = false;
                return -1;
        }

        // A process in the background is stopped when it reads.
        if (!IsForeground)
        {
            return 0;
        }

        fixed (byte* at = keys)
        {
            nint count = TerminalCalls.Read(TerminalCalls.StandardInput, at, (nuint)keys.Length);
            if (count > 0)
            {
                return (int)count;
            }

            if (count < 0 && Marshal.GetLastPInvokeError() is TerminalCalls.InterruptedCall or TerminalCalls.TryAgain)
            {
                return 0;
            }
        }

        _hasInput = false;
        return -1;
    }

    /// <inheritdoc/>
    public int Write(ReadOnlySpan<byte> bytes, TimeSpan wait)
    {
        switch (Wait(_output, TerminalCalls.PollOut, wait))
        {
            case 0:
                return 0;
            case < 0:
                return -1;
        }

        // In portions that a terminal with any room takes, for the case that this write waits.
        ReadOnlySpan<byte> part = _output == TerminalCalls.StandardOutput && bytes.Length > 256 ? bytes[..256] : bytes;
        fixed (byte* at = part)
        {
            nint count = TerminalCalls.Write(_output, at, (nuint)part.Length);
            return count >= 0 ? (int)count
                : Marshal.GetLastPInvokeError() is TerminalCalls.InterruptedCall or TerminalCalls.TryAgain ? 0
                : -1;
        }
    }

    /// <inheritdoc/>
    public void Discard() => _ = TerminalCalls.Flush(_output, OutputQueue);

    /// <inheritdoc/>
    public void Dispose()
    {
        LeaveRaw();
        if (_output != TerminalCalls.StandardOutput)
        {
            _ = TerminalCalls.Close(_output);
        }
    }

    /// <summary>
    /// Whether the process may use the terminal. Where it is not the one that controls this process, no shell decides, and it has no
    /// group in the foreground.
    /// </summary>
    private static bool IsOwn()
    {
        int group = TerminalCalls.ForegroundGroup(TerminalCalls.StandardOutput);
        return group < 0 || group == TerminalCalls.OwnGroup();
    }

    /// <returns>Positive: ready; 0: not in time; negative: the terminal is gone.</returns>
    private static int Wait(int descriptor, short wanted, TimeSpan wait)
    {
        var entry = new TerminalCalls.PollEntry { Descriptor = descriptor, Wanted = wanted };
        int ready = TerminalCalls.Poll(&entry, 1, (int)Math.Ceiling(wait.TotalMilliseconds));
        return ready < 0 ? (Marshal.GetLastPInvokeError() == TerminalCalls.InterruptedCall ? 0 : -1)
            : ready == 0 ? 0
            : (entry.Found & wanted) != 0 ? 1
            : -1;
    }
}
