using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;

namespace Tunnel2.TestUtilities;

/// <summary>A child process whose output a test can wait for. Thread-safe. Disposing kills it and its children.</summary>
public sealed class ProcessRunner : IAsyncDisposable
{
    private const int SigHup = 1;
    private const int SigTerm = 15;
    private const int SigStop = 19;
    private const int SigCont = 18;
    private const int LinesInMessages = 20;

    private readonly Lock _lock = new();
    private readonly Process _process;
    private readonly List<string> _lines = [];
    private readonly AsyncCounter _lineCount = new("lines of output");
    private readonly string _name;
    private int _isOver;

    private ProcessRunner(Process process, string name)
    {
        _process = process;
        _name = name;
    }

    /// <summary>The process id.</summary>
    public int Id => _process.Id;

    /// <summary>Whether it has ended.</summary>
    public bool HasExited => _process.HasExited;

    /// <summary>All lines so far, of both outputs, in the order in which they came.</summary>
    public IReadOnlyList<string> Lines
    {
        get
        {
            lock (_lock)
            {
                return [.. _lines];
            }
        }
    }

    /// <summary>Starts <paramref name="fileName"/>.</summary>
    /// <param name="fileName">A path, or a name looked up in PATH.</param>
    /// <param name="arguments">Its arguments, each passed as it is.</param>
    /// <param name="environment">Variables to add or (null) to remove.</param>
    /// <param name="workingDirectory">Default: that of the test process.</param>
    /// <exception cref="System.ComponentModel.Win32Exception">It cannot be started.</exception>
    public static ProcessRunner Start(
        string fileName, IEnumerable<string> arguments, IReadOnlyDictionary<string, string?>? environment = null,
        string? workingDirectory = null)
    {
        var info = new ProcessStartInfo(fileName, arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
            WorkingDirectory = workingDirectory ?? "",
        };
        foreach (var (name, value) in environment ?? new Dictionary<string, string?>())
        {
            info.Environment[name] = value;
        }

        var process = new Process { StartInfo = info };
        var runner = new ProcessRunner(process, Path.GetFileName(fileName));
        process.OutputDataReceived += (_, e) => runner.AddLine(e.Data);
        process.ErrorDataReceived += (_, e) => runner.AddLine(e.Data);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        return runner;
    }

    /// <summary>Waits for a line of either output, past ones included, and returns it.</summary>
    /// <exception cref="TimeoutException">None came within <paramref name="timeout"/> (default: <see cref="AsyncCounter.DefaultTimeout"/>);
    /// the message has the last lines.</exception>
    /// <exception cref="InvalidOperationException">The process ended without such a line.</exception>
    public async Task<string> WaitForLineAsync(
        Func<string, bool> predicate, TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout ?? AsyncCounter.DefaultTimeout);
        // Ends when both outputs are closed too, so that no line is missed.
        var exit = _process.WaitForExitAsync(limit.Token);
        for (var seen = 0; ;)
        {
            // Asked before the lines are read: a process that had ended by then has no further lines.
            var hasEnded = exit.IsCompletedSuccessfully;
            var lines = Lines;
            for (; seen < lines.Count; seen++)
            {
                if (predicate(lines[seen]))
                {
                    return lines[seen];
                }
            }

            if (hasEnded)
            {
                throw new InvalidOperationException(Describe($"ended with {_process.ExitCode} before the line came"));
            }

            var nextLine = _lineCount.WaitForAsync(seen + 1, Timeout.InfiniteTimeSpan, limit.Token);
            await Task.WhenAny(nextLine, exit).ConfigureAwait(false);
            if (limit.IsCancellationRequested)
            {
                cancellationToken.ThrowIfCancellationRequested();
                throw new TimeoutException(Describe("did not print the line in time"));
            }
        }
    }

    /// <summary>Waits for its end and returns the exit code (128 + number after a signal).</summary>
    /// <exception cref="TimeoutException">It runs longer than <paramref name="timeout"/> (default:
    /// <see cref="AsyncCounter.DefaultTimeout"/>).</exception>
    public async Task<int> WaitForExitAsync(TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout ?? AsyncCounter.DefaultTimeout);
        try
        {
            await _process.WaitForExitAsync(limit.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new TimeoutException(Describe("did not end in time"));
        }

        return _process.ExitCode;
    }

    /// <summary>Kills it at once (SIGKILL); its children live on.</summary>
    public void Kill() => _process.Kill();

    /// <summary>Asks it to end (SIGTERM).</summary>
    public void Terminate() => Signal(SigTerm);

    /// <summary>Reports to it that its terminal was closed (SIGHUP).</summary>
    public void HangUp() => Signal(SigHup);

    /// <summary>Freezes it (SIGSTOP).</summary>
    public void Suspend() => Signal(SigStop);

    /// <summary>Lets it continue (SIGCONT).</summary>
    public void Resume() => Signal(SigCont);

    /// <summary>Its resident memory in bytes, from <c>/proc</c>.</summary>
    public long ReadResidentBytes()
    {
        const string Field = "VmRSS:";
        var line = File.ReadLines($"/proc/{Id}/status").First(line => line.StartsWith(Field, StringComparison.Ordinal));
        var kilobytes = line[Field.Length..].Replace("kB", "", StringComparison.Ordinal).Trim();
        return long.Parse(kilobytes, CultureInfo.InvariantCulture) * 1024;
    }

    /// <summary>The processor time it has used, user and kernel.</summary>
    public TimeSpan ReadProcessorTime()
    {
        _process.Refresh();
        return _process.TotalProcessorTime;
    }

    /// <summary>Kills the process and its children, and waits until it is gone; once more it does nothing.</summary>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isOver, 1) != 0)
        {
            return;
        }

        try
        {
            _process.Kill(entireProcessTree: true);
        }
        catch (InvalidOperationException)
        {
            // It has ended by itself.
        }

        await _process.WaitForExitAsync(CancellationToken.None).ConfigureAwait(false);
        _process.Dispose();
    }

    private void AddLine(string? line)
    {
        if (line is null)
        {
            return;
        }

        lock (_lock)
        {
            _lines.Add(line);
        }

        _lineCount.Increment();
    }

    private string Describe(string what)
    {
        var lines = Lines;
        return $"{_name} {what}. Its last lines:\n{string.Join('\n', lines.Skip(lines.Count - LinesInMessages))}";
    }

    private void Signal(int signal)
    {
        if (SendSignal(Id, signal) != 0)
        {
            throw new InvalidOperationException($"Cannot signal {_name}: error {Marshal.GetLastPInvokeError()}.");
        }
    }

    [DllImport("libc", EntryPoint = "kill", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int SendSignal(int processId, int signal);
}
