using System.ComponentModel;
using System.Diagnostics;
using System.Text;

namespace Tunnel2.Client.Services;

/// <summary>Runs the programs of a service manager.</summary>
internal static class ServiceProcess
{
    /// <summary>No program is found in the folders of PATH.</summary>
    public const int NotFound = 127;

    private const int MostCharacters = 64 * 1024;

    /// <summary>A start may wait until the agent is ready, a stop until its requests are over.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromMinutes(2);

    /// <summary>Runs a program to its end.</summary>
    /// <returns>Its exit code and its first output, of both kinds.</returns>
    /// <exception cref="OperationCanceledException">It was stopped; the program continues by itself.</exception>
    public static async Task<(int ExitCode, string Output)> RunAsync(
        IReadOnlyList<string> words, Func<string, string?> environment, TimeProvider time, CancellationToken stop)
    {
        if (PathOf(words[0], environment) is not { } path)
        {
            return (NotFound, $"{words[0]} is not to be found on this machine");
        }

        using var limit = new CancellationTokenSource(_patience, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        try
        {
            using Process process = Start(path, words);
            process.StandardInput.Close();
            Task<string> output = ReadAsync(process.StandardOutput, either.Token);
            Task<string> errors = ReadAsync(process.StandardError, either.Token);
            await process.WaitForExitAsync(either.Token);
            return (process.ExitCode, await output + await errors);
        }
        catch (Exception exception) when (exception is Win32Exception or IOException)
        {
            return (NotFound, $"{words[0]} cannot be started: {exception.Message}");
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            return (NotFound, $"{words[0]} has not ended within {_patience.TotalMinutes:0} minutes");
        }
    }

    /// <summary>Runs a program and copies its output as it comes, until it ends or the caller stops it.</summary>
    /// <returns>Its exit code; 0 when it was stopped.</returns>
    public static async Task<(int ExitCode, string? Problem)> CopyAsync(
        IReadOnlyList<string> words, Func<string, string?> environment, TextWriter destination, CancellationToken stop)
    {
        if (PathOf(words[0], environment) is not { } path)
        {
            return (NotFound, $"{words[0]} is not to be found on this machine");
        }

        try
        {
            using Process process = Start(path, words);
            process.StandardInput.Close();
            await using CancellationTokenRegistration end = stop.Register(() => End(process));
            Task<string> errors = ReadAsync(process.StandardError, CancellationToken.None);
            char[] buffer = new char[4096];
            while (await process.StandardOutput.ReadAsync(buffer, CancellationToken.None) is > 0 and var count)
            {
                await destination.WriteAsync(buffer.AsMemory(0, count), CancellationToken.None);
                await destination.FlushAsync(CancellationToken.None);
            }

            await process.WaitForExitAsync(CancellationToken.None);
            return stop.IsCancellationRequested ? (0, null)
                : process.ExitCode == 0 ? (0, null)
                : (process.ExitCode, (await errors).Trim());
        }
        catch (Exception exception) when (exception is Win32Exception or IOException)
        {
            return (NotFound, $"{words[0]}: {exception.Message}");
        }
    }

    /// <summary>The program of a name in the folders of PATH; null: there is none.</summary>
    private static string? PathOf(string name, Func<string, string?> environment)
    {
        // On Windows the system's own folder comes first, so that no other program is taken for one of its tools.
        string[] folders = OperatingSystem.IsWindows()
            ? [Environment.SystemDirectory]
            : (environment("PATH") ?? "").Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries);
        return folders.Where(Path.IsPathRooted).Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);
    }

    private static Process Start(string path, IReadOnlyList<string> words)
    {
        var start = new ProcessStartInfo(path)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (string word in words.Skip(1))
        {
            start.ArgumentList.Add(word);
        }

        return Process.Start(start) ?? throw new IOException("no process");
    }

    /// <summary>Reads to the end, and keeps the beginning.</summary>
    private static async Task<string> ReadAsync(StreamReader reader, CancellationToken stop)
    {
        var text = new StringBuilder();
        char[] buffer = new char[4096];
        while (await reader.ReadAsync(buffer, stop) is > 0 and var count)
        {
            text.Append(buffer, 0, Math.Min(count, MostCharacters - text.Length));
        }

        return text.ToString();
    }

    private static void End(Process process)
    {
        try
        {
            process.Kill();
        }
        catch (Exception exception) when (exception is InvalidOperationException or Win32Exception)
        {
            // It has ended by itself.
        }
    }
}
