using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A program on a real pseudo terminal, with a person before it who sees <see cref="VirtualTerminal"/> and types. After the program's end
/// the terminal shows <c>ENDED</c> with its exit code and the settings that it left (<c>stty -a</c>). Linux. Thread-safe.
/// </summary>
public sealed class PseudoTerminal : IAsyncDisposable
{
    private const int ReadWriteWithoutControl = 2 | 0x100;
    private const uint SetWindowSize = 0x5414;

    // The shell stays the session's leader, so that the terminal keeps the settings that the program leaves; a trap that is not '' is reset
    // in the program.
    private const string Script =
        "trap : INT QUIT; sh -c 'echo PID=$$; exec \"$@\"' sh \"$@\"; code=$?; echo; echo \"ENDED $code\"; stty -a; exec cat >/dev/null";

    private readonly Lock _lock = new();
    private readonly FileStream _master;
    private readonly VirtualTerminal _screen;
    private readonly ProcessRunner _process;
    private readonly AsyncCounter _reads = new("reads of the terminal");
    private readonly ManualResetEventSlim _isOpen = new(true);
    private readonly StringBuilder _raw = new();

    private PseudoTerminal(FileStream master, ProcessRunner process, int columns, int rows)
    {
        _master = master;
        _process = process;
        _screen = new VirtualTerminal(columns, rows);
        new Thread(Read) { IsBackground = true, Name = "pseudo terminal" }.Start();
    }

    /// <summary>All that the program wrote, as text.</summary>
    public string Raw
    {
        get
        {
            lock (_lock)
            {
                return _raw.ToString();
            }
        }
    }

    /// <summary>Starts a program.</summary>
    /// <param name="columns">Columns of the terminal.</param>
    /// <param name="rows">Rows of the terminal.</param>
    /// <param name="command">The program and its arguments.</param>
    /// <param name="environment">Variables to add or (null) to remove; TERM is xterm-256color unless it is among them.</param>
    public static PseudoTerminal Start(
        int columns, int rows, IEnumerable<string> command, IReadOnlyDictionary<string, string?>? environment = null)
    {
        var descriptor = OpenMaster(ReadWriteWithoutControl);
        var name = new byte[64];
        if (descriptor < 0 || Grant(descriptor) != 0 || Unlock(descriptor) != 0 || NameOf(descriptor, name, (nuint)name.Length) != 0)
        {
            throw new InvalidOperationException("There is no pseudo terminal.");
        }

        SetSize(descriptor, columns, rows);
        var variables = new Dictionary<string, string?> { ["TERM"] = "xterm-256color", ["NO_COLOR"] = null };
        foreach (var (variable, value) in environment ?? new Dictionary<string, string?>())
        {
            variables[variable] = value;
        }

        var path = Encoding.ASCII.GetString(name).TrimEnd('\0');
        var process = ProcessRunner.Start(
            "sh",
            [
                "-c",
                "terminal=$0; script=$1; shift; exec env --default-signal=INT,QUIT setsid --ctty sh -c \"$script\" sh \"$@\" "
                    + "<\"$terminal\" >\"$terminal\" 2>&1",
                path, Script, .. command,
            ],
            variables,
            Path.GetTempPath());
        return new PseudoTerminal(
            new FileStream(new SafeFileHandle(descriptor, ownsHandle: true), FileAccess.ReadWrite, bufferSize: 0), process, columns, rows);
    }

    /// <summary>The program's process, once it has started.</summary>
    public async Task<int> ProcessIdAsync()
    {
        const string Mark = "PID=";
        await _reads.UntilAsync(() => Raw.Contains('\n', StringComparison.Ordinal), "it has started").ConfigureAwait(false);
        var line = Raw.Split('\n').First(static line => line.StartsWith(Mark, StringComparison.Ordinal));
        return int.Parse(line[Mark.Length..].Trim(), CultureInfo.InvariantCulture);
    }

    /// <summary>Waits until the person sees something.</summary>
    /// <returns>What is seen then.</returns>
    public async Task<string> SeeAsync(Func<VirtualTerminal, bool> condition, string description, TimeSpan? timeout = null)
    {
        var seen = "";
        try
        {
            await _reads.UntilAsync(
                () =>
                {
                    lock (_lock)
                    {
                        seen = _screen.Text;
                        return condition(_screen);
                    }
                },
                description,
                timeout).ConfigureAwait(false);
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException($"{exception.Message}\n{seen}", exception);
        }

        return seen;
    }

    /// <summary>Waits until a text is seen.</summary>
    /// <returns>What is seen then.</returns>
    public Task<string> SeeAsync(string text, TimeSpan? timeout = null) =>
        SeeAsync(screen => screen.Find(text) >= 0, $"'{text}' is seen", timeout);

    /// <summary>Looks at the screen.</summary>
    public T Look<T>(Func<VirtualTerminal, T> look)
    {
        ArgumentNullException.ThrowIfNull(look);
        lock (_lock)
        {
            return look(_screen);
        }
    }

    /// <summary>Types.</summary>
    public void Type(string keys)
    {
        _master.Write(Encoding.UTF8.GetBytes(keys));
        _master.Flush();
    }

    /// <summary>Stops or continues to take what the program writes.</summary>
    public void Block(bool isBlocked)
    {
        if (isBlocked)
        {
            _isOpen.Reset();
        }
        else
        {
            _isOpen.Set();
        }
    }

    /// <summary>Gives the terminal another size.</summary>
    public void Resize(int columns, int rows)
    {
        lock (_lock)
        {
            _screen.Resize(columns, rows);
        }

        SetSize((int)_master.SafeFileHandle.DangerousGetHandle(), columns, rows);
    }

    /// <summary>Kills the program and closes the terminal.</summary>
    public async ValueTask DisposeAsync()
    {
        _isOpen.Set();
        await _process.DisposeAsync().ConfigureAwait(false);
        await _master.DisposeAsync().ConfigureAwait(false);
    }

    private static void SetSize(int descriptor, int columns, int rows)
    {
        var size = new WindowSize { Rows = (ushort)rows, Columns = (ushort)columns };
        if (Control(descriptor, SetWindowSize, ref size) != 0)
        {
            throw new InvalidOperationException("The terminal cannot be given a size.");
        }
    }

    private void Read()
    {
        var buffer = new byte[4096];
        try
        {
            while (true)
            {
                _isOpen.Wait();
                var count = _master.Read(buffer);
                if (count == 0)
                {
                    return;
                }

                lock (_lock)
                {
                    _screen.Write(buffer.AsSpan(0, count));
                    _raw.Append(Encoding.Latin1.GetString(buffer, 0, count));
                }

                _reads.Increment();
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The last process that had it open has ended.
        }
    }

    [DllImport("libc", EntryPoint = "posix_openpt")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int OpenMaster(int flags);

    [DllImport("libc", EntryPoint = "grantpt")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Grant(int descriptor);

    [DllImport("libc", EntryPoint = "unlockpt")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Unlock(int descriptor);

    [DllImport("libc", EntryPoint = "ptsname_r")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int NameOf(int descriptor, byte[] name, nuint length);

    [DllImport("libc", EntryPoint = "ioctl")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Control(int descriptor, nuint request, ref WindowSize size);

    /// <summary>struct winsize.</summary>
    private struct WindowSize
    {
        public ushort Rows;
        public ushort Columns;
        public ushort Width;
        public ushort Height;
    }
}
