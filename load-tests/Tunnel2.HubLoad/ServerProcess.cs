using System.Diagnostics;
using System.Globalization;

namespace Tunnel2.HubLoad;

/// <summary>The measured process, started from this very program and spoken to over its standard streams.</summary>
internal sealed class ServerProcess : IDisposable
{
    private readonly Process _process;

    public ServerProcess()
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardInput = true, RedirectStandardOutput = true };
        if (Path.GetFileNameWithoutExtension(Environment.ProcessPath) == "dotnet")
        {
            start.ArgumentList.Add(typeof(ServerProcess).Assembly.Location);
        }

        start.ArgumentList.Add("server");
        _process = Process.Start(start)!;
        string[] words = (_process.StandardOutput.ReadLine() ?? throw new IOException("the server did not start")).Split(' ');
        Port = int.Parse(words[1], CultureInfo.InvariantCulture);
    }

    public int Port { get; }

    public long ReadResidentBytes()
    {
        string line = File.ReadLines($"/proc/{_process.Id}/status").First(text => text.StartsWith("VmRSS:", StringComparison.Ordinal));
        return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture) * 1024;
    }

    public async Task<string[]> CommandAsync(string command)
    {
        await _process.StandardInput.WriteLineAsync(command);
        await _process.StandardInput.FlushAsync();
        return (await _process.StandardOutput.ReadLineAsync() ?? throw new IOException("the server ended")).Split(' ');
    }

    public void Dispose()
    {
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
    }
}
