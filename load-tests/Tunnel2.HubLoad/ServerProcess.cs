using System.Diagnostics;
using System.Globalization;

namespace Tunnel2.HubLoad;

/// <summary>The measured process, started from this very program and spoken to over its standard streams.</summary>
internal sealed class ServerProcess : IDisposable
{
    private readonly Process _process;

    /// <param name="settings">Settings of the server: <c>Hub:MaxThreads=100</c>.</param>
    public ServerProcess(params string[] settings)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardInput = true, RedirectStandardOutput = true };
        if (Path.GetFileNameWithoutExtension(Environment.ProcessPath) == "dotnet")
        {
            start.ArgumentList.Add(typeof(ServerProcess).Assembly.Location);
        }

        start.ArgumentList.Add("server");
        foreach (string setting in settings)
        {
            start.ArgumentList.Add(setting);
        }

        _process = Process.Start(start)!;
        string[] words = (_process.StandardOutput.ReadLine() ?? throw new IOException("the server did not start")).Split(' ');
        Port = int.Parse(words[1], CultureInfo.InvariantCulture);
    }

    public int Port { get; }

    /// <summary>Processor time that it has used.</summary>
    public TimeSpan Cpu
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    public long ReadResidentBytes()
    {
        string line = File.ReadLines($"/proc/{_process.Id}/status").First(text => text.StartsWith("VmRSS:", StringComparison.Ordinal));
        return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture) * 1024;
    }

    /// <summary>Sockets that it has open, its listeners included.</summary>
    public int CountSockets() => Directory.EnumerateFileSystemEntries($"/proc/{_process.Id}/fd").Count(static file =>
    {
        try
        {
            return File.ResolveLinkTarget(file, returnFinalTarget: false)?.Name.StartsWith("socket:", StringComparison.Ordinal) == true;
        }
        catch (IOException)
        {
            return false; // It was closed in that time.
        }
    });

    public async Task<string[]> CommandAsync(string command)
    {
        await _process.StandardInput.WriteLineAsync(command);
        await _process.StandardInput.FlushAsync();
        return (await _process.StandardOutput.ReadLineAsync() ?? throw new IOException("the server ended")).Split(' ');
    }

    /// <summary>What the hub and the guard count, how many subscribers are paused, and whether slow ones are.</summary>
    public async Task<(int Connections, int Admitted, int Paused, bool IsPausing)> StateAsync()
    {
        int[] numbers = [.. (await CommandAsync("state"))[1..].Select(static word => int.Parse(word, CultureInfo.InvariantCulture))];
        return (numbers[0], numbers[1], numbers[2], numbers[3] == 1);
    }

    public void Dispose()
    {
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
    }
}
