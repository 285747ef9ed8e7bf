using System.Diagnostics;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.Client.Commands;

/// <summary>
/// <c>tunnel2 config edit</c>: an editor works on a copy beside the file, and the copy takes the file's place only when it has no mistake.
/// Agents that run from the file never see a half of it.
/// </summary>
internal static class ConfigEditCommand
{
    private const string Template =
        """
        # Tunnels of 'tunnel2 start'. Keys are the flags without dashes; 'tunnel2 help start' lists them.
        # server: tunnel.example.com
        tunnels:
          - name: web
            upstream: 3000

        """;

    /// <summary>Runs until the copy is taken over or given up.</summary>
    public static async Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        string path = ConfigCommand.PathOf(console, out string? mistake);
        if (mistake is not null)
        {
            return await console.MistakeAsync(mistake);
        }

        string? copy = null;
        try
        {
            path = Path.GetFullPath(path);
            path = File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
            string? before = File.Exists(path) ? await File.ReadAllTextAsync(path, stop) : null;
            copy = $"{path}.{Environment.ProcessId}.edit";
            await using (FileStream file = OwnerOnlyFile.Open(copy, FileMode.CreateNew, FileAccess.Write, FileShare.None))
            await using (var writer = new StreamWriter(file))
            {
                await writer.WriteAsync(before ?? Template);
            }

            return await EditAsync(console, path, copy, before, stop);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return await console.FailAsync($"{path}: {exception.Message}", AgentExitCode.InternalError);
        }
        catch (OperationCanceledException)
        {
            return await console.FailAsync("stopped; the file is unchanged", AgentExitCode.InternalError);
        }
        finally
        {
            if (copy is not null)
            {
                File.Delete(copy);
            }
        }
    }

    private static async Task<int> EditAsync(CommandConsole console, string path, string copy, string? before, CancellationToken stop)
    {
        while (true)
        {
            if (await RunEditorAsync(console, copy, stop) is { } problem)
            {
                return await console.FailAsync(problem, AgentExitCode.InternalError);
            }

            var (after, unreadable) = TunnelFileLoader.TryReadText(copy);
            if (after is not null && after == before)
            {
                return await ReportAsync(console, path, isChanged: false, "Nothing has changed.");
            }

            TunnelFileLoad load = after is null
                ? new TunnelFileLoad([], [new TunnelFileMistake(0, unreadable!)])
                : TunnelFileLoader.Load(path, after, new AgentOptionsInput(), console.Environment);
            if (load.Mistakes.Count == 0)
            {
                return await TakeOverAsync(console, path, copy, before);
            }

            foreach (TunnelFileMistake one in load.Mistakes)
            {
                await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(one.Message)}");
            }

            if (!await AskAsync(console, "Edit it again? The file is unchanged so far. [Y/n] ", stop))
            {
                await console.Error.WriteLineAsync("tunnel2: the file is unchanged");
                return AgentExitCode.Usage;
            }
        }
    }

    private static async Task<int> TakeOverAsync(CommandConsole console, string path, string copy, string? before)
    {
        string? now = File.Exists(path) ? await File.ReadAllTextAsync(path) : null;
        if (now != before)
        {
            string kept = path + ".edited";
            File.Move(copy, kept, overwrite: true);
            return await console.FailAsync(
                $"{path} was changed by another program and is left as it is; what you have written is in {kept}",
                AgentExitCode.InternalError);
        }

        if (before is not null && !OperatingSystem.IsWindows())
        {
            // The user of a service may be let in by the file's group alone.
            bool hasOwner = OwnerOnlyFile.TryGiveToOwnerOf(copy, path);
            File.SetUnixFileMode(copy, File.GetUnixFileMode(path));
            if (!hasOwner)
            {
                await using var file = new FileStream(path, FileMode.Truncate, FileAccess.Write);
                await file.WriteAsync(await File.ReadAllBytesAsync(copy));
                return await ReportAsync(console, path, isChanged: true, Written(path));
            }
        }

        File.Move(copy, path, overwrite: true);
        return await ReportAsync(console, path, isChanged: true, Written(path));
    }

    private static string Written(string path) => $"{path} is written. An agent that runs from it takes it over.";

    private static Task<int> ReportAsync(CommandConsole console, string path, bool isChanged, string text) => console.IsJson
        ? console.WriteJsonAsync(json =>
        {
            json.WriteString("file", path);
            json.WriteBoolean("changed", isChanged);
        })
        : console.WriteAsync(PlainText.Clean(text) + "\n");

    /// <summary>Whether a person says yes, or presses only the return key.</summary>
    private static async Task<bool> AskAsync(CommandConsole console, string question, CancellationToken stop)
    {
        if (console.OpenInput?.Invoke() is not { } input)
        {
            return false;
        }

        await console.Error.WriteAsync(question);
        return (await CommandConsole.WaitAsync(input.ReadLine, stop))?.Trim().ToLowerInvariant() is "" or "y" or "yes";
    }

    /// <summary>Runs the editor to its end.</summary>
    /// <returns>What went wrong, or null.</returns>
    private static async Task<string?> RunEditorAsync(CommandConsole console, string copy, CancellationToken stop)
    {
        string editor = new[] { console.Environment("VISUAL"), console.Environment("EDITOR") }
            .FirstOrDefault(static name => !string.IsNullOrWhiteSpace(name)) ?? (OperatingSystem.IsWindows() ? "notepad" : "vi");

        // The variable may have arguments ("code --wait"), and is the user's own; the path is passed beside it, not inside.
        ProcessStartInfo start = OperatingSystem.IsWindows()
            ? new ProcessStartInfo("cmd.exe") { ArgumentList = { "/c", editor, copy } }
            : new ProcessStartInfo("/bin/sh") { ArgumentList = { "-c", $"{editor} \"$1\"", "sh", copy } };
        try
        {
            // Ctrl+C reaches all programs of the terminal, and means something to an editor.
            using IDisposable? left = console.LeaveInterrupts?.Invoke();
            using Process process = Process.Start(start) ?? throw new IOException("no process");
            await process.WaitForExitAsync(stop);
            return process.ExitCode == 0 ? null : $"the editor ({editor}) ended with {process.ExitCode}; the file is unchanged";
        }
        catch (Exception exception) when (exception is System.ComponentModel.Win32Exception or IOException)
        {
            return $"the editor ({editor}) cannot be started: {exception.Message}; set EDITOR";
        }
        catch (OperationCanceledException)
        {
            return "stopped; the file is unchanged";
        }
    }
}
