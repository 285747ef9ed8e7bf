using System.ComponentModel;
using System.Diagnostics;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Makes and removes TXT records by a program of the operator. The program gets no shell, has a limit of time, and what it writes is
/// dropped: it may contain secrets of the DNS provider. Thread-safe.
/// </summary>
/// <param name="program">The program's file.</param>
/// <param name="wait">How long to wait after a record was made.</param>
/// <param name="time">The clock.</param>
internal sealed class DnsHook(string program, TimeSpan wait, TimeProvider time)
{
    /// <summary>How long a call may take.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    /// <summary>Makes a record, which is removed when the result is disposed of.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="AcmeException">The program failed.</exception>
    public async Task<IAsyncDisposable> ShowAsync(string name, string value, CancellationToken cancellationToken)
    {
        var record = new Record(this, name, value);
        try
        {
            await RunAsync("add", name, value, cancellationToken).ConfigureAwait(false);
            await Task.Delay(wait, time, cancellationToken).ConfigureAwait(false);
            return record;
        }
        catch
        {
            // It may have made the record before it failed.
            await record.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    private async Task RunAsync(string verb, string name, string value, CancellationToken cancellationToken)
    {
        using var deadline = new CancellationTokenSource(Limit, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, cancellationToken);
        var start = new ProcessStartInfo(program)
        {
            ArgumentList = { verb, name, value },
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        using var process = new Process { StartInfo = start };
        try
        {
            process.Start();
            process.StandardInput.Close();
        }
        catch (Exception exception) when (exception is Win32Exception or IOException or InvalidOperationException)
        {
            throw new AcmeException($"the DNS hook cannot be started: {AcmeJson.Clean(exception.Message)}", cause: exception);
        }

        using var stopDropping = new CancellationTokenSource();
        var dropping = Task.WhenAll(
            DropAsync(process.StandardOutput.BaseStream, stopDropping.Token),
            DropAsync(process.StandardError.BaseStream, stopDropping.Token));
        try
        {
            // The end of the process, not of its output: a child may hold that open.
            var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            process.EnableRaisingEvents = true;
            process.Exited += (_, _) => ended.TrySetResult();
            if (process.HasExited)
            {
                ended.TrySetResult();
            }

            await ended.Task.WaitAsync(either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException exception)
        {
            Kill(process);
            cancellationToken.ThrowIfCancellationRequested();
            throw new AcmeException($"the DNS hook did not end within {Limit.TotalSeconds} s ({verb})", cause: exception);
        }
        finally
        {
            await stopDropping.CancelAsync().ConfigureAwait(false);
            await dropping.ConfigureAwait(false);
        }

        if (process.ExitCode != 0)
        {
            throw new AcmeException($"the DNS hook ended with code {process.ExitCode} ({verb})");
        }
    }

    // Not by the lines of Process: what it reads when it is disposed of fails where no code looks.
    private static async Task DropAsync(Stream output, CancellationToken cancellationToken)
    {
        await using (output.ConfigureAwait(false))
        {
            try
            {
                await output.CopyToAsync(Stream.Null, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception exception) when (exception is IOException or OperationCanceledException)
            {
                // What is dropped may end as it likes.
            }
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception exception) when (exception is InvalidOperationException or Win32Exception or AggregateException)
        {
            // It has ended in that moment, or is not ours to end.
        }
    }

    private sealed class Record(DnsHook hook, string name, string value) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            try
            {
                await hook.RunAsync("remove", name, value, CancellationToken.None).ConfigureAwait(false);
            }
            catch (AcmeException)
            {
                // A record that stays does no harm: its value is good for one challenge.
            }
        }
    }
}
