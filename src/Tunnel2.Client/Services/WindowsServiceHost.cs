using System.Runtime.Versioning;
using System.ServiceProcess;
using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Client.Services;

/// <summary>Runs the program for the service control manager of Windows, from its start to its order to stop.</summary>
[SupportedOSPlatform("windows")]
internal sealed class WindowsServiceHost : ServiceBase
{
    /// <summary>What running requests get, and a few seconds.</summary>
    private const int StopMilliseconds = 40_000;

    private readonly CancellationTokenSource _stop = new();
    private readonly Func<CancellationToken, Task<int>> _run;
    private Task<int> _running = Task.FromResult(0);

    private WindowsServiceHost(string name, Func<CancellationToken, Task<int>> run)
    {
        ServiceName = name;
        CanShutdown = true;
        AutoLog = false;
        _run = run;
    }

    /// <summary>Runs until the manager orders a stop, or the program ends by itself.</summary>
    /// <returns>The program's exit code.</returns>
    public static int Run(string name, Func<CancellationToken, Task<int>> run)
    {
        using var host = new WindowsServiceHost(name, run);
        Run(host);
        return host._running is { IsCompletedSuccessfully: true, Result: var code } ? code : AgentExitCode.InternalError;
    }

    /// <inheritdoc/>
    protected override void OnStart(string[] args)
    {
        _running = Task.Run(() => _run(_stop.Token));
        _running.ContinueWith(
            ended =>
            {
                // The manager starts a service again that ends with a code. After these two trying again does not help; the log has why.
                int code = ended.IsCompletedSuccessfully ? ended.Result : AgentExitCode.InternalError;
                ExitCode = code is AgentExitCode.Usage or AgentExitCode.Rejected ? 0 : code;
                if (!_stop.IsCancellationRequested)
                {
                    Stop();
                }
            },
            CancellationToken.None,
            TaskContinuationOptions.None,
            TaskScheduler.Default);
    }

    /// <inheritdoc/>
    protected override void OnStop() => End();

    /// <inheritdoc/>
    protected override void OnShutdown() => End();

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _stop.Dispose();
        }

        base.Dispose(disposing);
    }

    private void End()
    {
        RequestAdditionalTime(StopMilliseconds);
        _stop.Cancel();
        ((IAsyncResult)_running).AsyncWaitHandle.WaitOne(StopMilliseconds);
    }
}
