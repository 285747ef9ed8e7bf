using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.Client.Services;

/// <summary>Carries out what a service manager wants, step after step, until one fails.</summary>
internal static class ServicePlan
{
    private const UnixFileMode Readable =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.OtherRead;

    private const UnixFileMode OwnFolder = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private const UnixFileMode OpenFolder =
        OwnFolder | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    /// <summary>How much of a file is looked at for the mark.</summary>
    private const int MarkWithin = 4096;

    /// <summary>The first file of the steps that is there and was not made by this program; null: none.</summary>
    public static string? FindForeign(IEnumerable<ServiceStep> steps) =>
        steps.OfType<ServiceStep.Write>().Where(static step => step is { IsSecret: false, Text.Length: > 0 })
            .Select(static step => step.Path)
            .FirstOrDefault(static path => File.Exists(path) && !IsOurs(path));

    /// <summary>Whether a file was made by this program.</summary>
    public static bool IsOurs(string path)
    {
        using var reader = new StreamReader(path);
        char[] text = new char[MarkWithin];
        int length = reader.ReadBlock(text);
        return new string(text, 0, length).Contains(LaunchdManager.Mark, StringComparison.Ordinal);
    }

    /// <summary>Carries the steps out.</summary>
    /// <returns>What went wrong; null: nothing.</returns>
    /// <exception cref="IOException">A file cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The user may not write it.</exception>
    public static async Task<string?> RunAsync(
        IEnumerable<ServiceStep> steps, Func<string, string?> environment, TimeProvider time, CancellationToken stop)
    {
        foreach (ServiceStep step in steps)
        {
            switch (step)
            {
                case ServiceStep.Folder folder:
                    MakeFolder(folder.Path, OpenFolder);
                    break;
                case ServiceStep.Write { Text.Length: 0 } empty:
                    if (!File.Exists(empty.Path))
                    {
                        Write(empty);
                    }

                    break;
                case ServiceStep.Write write:
                    Write(write);
                    break;
                case ServiceStep.Delete delete:
                    if (File.Exists(delete.Path))
                    {
                        File.Delete(delete.Path);
                    }

                    break;
                case ServiceStep.Run run:
                    var (exitCode, output) = await ServiceProcess.RunAsync(run.Words, environment, time, stop);
                    if (exitCode != 0 && !run.MayFail)
                    {
                        return $"'{run}' ended with {exitCode}: {Short(output)}";
                    }

                    break;
                default:
                    throw new InvalidOperationException($"{step} is not known.");
            }
        }

        return null;
    }

    private static string Short(string output)
    {
        string text = PlainText.Clean(output.Trim().ReplaceLineEndings(" "), 600);
        return text.Length == 0 ? "it says nothing" : text;
    }

    /// <summary>Makes a folder; those above it can be entered by all.</summary>
    private static void MakeFolder(string path, UnixFileMode mode)
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(path);
            return;
        }

        if (Directory.Exists(path))
        {
            return;
        }

        if (Path.GetDirectoryName(path) is { Length: > 0 } above)
        {
            MakeFolder(above, OpenFolder);
        }

        Directory.CreateDirectory(path, mode);

        // Under any umask.
        File.SetUnixFileMode(path, mode);
    }

    /// <summary>Writes in one step: readers find the old file or the whole new one.</summary>
    private static void Write(ServiceStep.Write step)
    {
        MakeFolder(Path.GetDirectoryName(step.Path)!, step.IsSecret ? OwnFolder : OpenFolder);
        string beside = Path.Combine(Path.GetDirectoryName(step.Path)!, $".{Path.GetFileName(step.Path)}.{Guid.NewGuid():N}");
        try
        {
            using (FileStream file = OwnerOnlyFile.Open(beside, FileMode.CreateNew, FileAccess.Write, FileShare.None))
            {
                file.Write(Encoding.UTF8.GetBytes(step.Text));
                file.Flush(flushToDisk: true);
            }

            if (!step.IsSecret && !OperatingSystem.IsWindows())
            {
                File.SetUnixFileMode(beside, Readable);
            }

            File.Move(beside, step.Path, overwrite: true);
        }
        catch
        {
            File.Delete(beside);
            throw;
        }
    }
}
