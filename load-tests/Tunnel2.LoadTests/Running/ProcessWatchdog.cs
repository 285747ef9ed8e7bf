using System.ComponentModel;
using System.Diagnostics;

namespace Tunnel2.LoadTests.Running;

/// <summary>
/// Ends the programs that a run has started when the run itself is gone, however it ended: a small shell waits at a pipe whose other end
/// is this process's, and the system closes that end even after a SIGKILL. Not thread-safe.
/// </summary>
internal sealed class ProcessWatchdog : IDisposable
{
    // A signal that a terminal sends to the whole group is for the run to answer. It may still need its programs then.
    private const string Script =
        """
        trap '' HUP INT TERM
        processes='' folder=''
        while read -r what value; do
            case $what in
                process) processes="$processes $value" ;;
                folder) folder=$value ;;
                done) exit 0 ;;
            esac
        done
        for process in $processes; do kill -KILL "$process" 2>/dev/null; done
        [ -z "$folder" ] || rm -rf "$folder"
        """;

    private readonly Process? _shell;

    private ProcessWatchdog(Process? shell) => _shell = shell;

    /// <summary>Starts one. Where there is no shell (Windows), it does nothing.</summary>
    public static ProcessWatchdog Start()
    {
        if (OperatingSystem.IsWindows())
        {
            return new ProcessWatchdog(null);
        }

        try
        {
            return new ProcessWatchdog(
                Process.Start(new ProcessStartInfo("/bin/sh", ["-c", Script]) { RedirectStandardInput = true, WorkingDirectory = "/" }));
        }
        catch (Win32Exception e)
        {
            throw new InvalidOperationException($"/bin/sh cannot be started: {e.Message}", e);
        }
    }

    /// <summary>Ends this process with the run.</summary>
    public void Watch(int process) => Send($"process {process}");

    /// <summary>Deletes this folder with the run.</summary>
    public void WatchFolder(string path) => Send($"folder {path}");

    /// <summary>The run has ended its programs itself.</summary>
    public void Dispose()
    {
        if (_shell is null)
        {
            return;
        }

        Send("done");
        _shell.StandardInput.Dispose();
        _shell.WaitForExit();
        _shell.Dispose();
    }

    private void Send(string line)
    {
        try
        {
            _shell?.StandardInput.WriteLine(line);
            _shell?.StandardInput.Flush();
        }
        catch (IOException)
        {
            // Something has killed it: the run does not need it.
        }
    }
}
