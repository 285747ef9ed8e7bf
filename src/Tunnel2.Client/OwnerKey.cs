using System.Security.Cryptography;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.Client;

/// <summary>
/// The secret by which a server knows a restarted agent without a token. It is made once for each user of a machine, in a file that only
/// that user can read. Each server gets a different key made from it, so no server can use the key at another.
/// </summary>
internal static class OwnerKey
{
    private const int Length = 32;
    private const string FileName = "agent.key";

    /// <summary>Finds or makes the key for a server.</summary>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="server">The server for which the key is.</param>
    /// <returns>The key; empty if there is no place for the file. Then a restarted agent gets its name back a few seconds later.</returns>
    public static byte[] For(Func<string, string?> environment, ServerEndpoint server)
    {
        if (FindFolder(environment) is not { } folder)
        {
            return [];
        }

        try
        {
            var secret = FindOrCreate(folder);
            return secret.Length == Length ? HMACSHA256.HashData(secret, Encoding.UTF8.GetBytes($"tunnel2 owner {server}")) : [];
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return [];
        }
    }

    private static string? FindFolder(Func<string, string?> environment)
    {
        if (environment("XDG_STATE_HOME") is { Length: > 0 } state && Path.IsPathRooted(state))
        {
            return Path.Combine(state, "tunnel2");
        }

        if (OperatingSystem.IsWindows())
        {
            return environment("LOCALAPPDATA") is { Length: > 0 } local ? Path.Combine(local, "Tunnel2") : null;
        }

        return environment("HOME") is { Length: > 0 } home && Path.IsPathRooted(home) && Directory.Exists(home)
            ? Path.Combine(home, ".local", "state", "tunnel2")
            : null;
    }

    private static byte[] FindOrCreate(string folder)
    {
        var path = Path.Combine(folder, FileName);
        if (File.Exists(path))
        {
            OwnerOnlyFile.Narrow(path);
            return File.ReadAllBytes(path);
        }

        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(folder);
        }
        else
        {
            Directory.CreateDirectory(folder, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        // Writes a temporary file and moves it. Of two first agents at once one wins, and both use its file.
        var temporary = $"{path}.{Guid.NewGuid():N}";
        using (var file = OwnerOnlyFile.Open(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None))
        {
            file.Write(RandomNumberGenerator.GetBytes(Length));
        }

        try
        {
            File.Move(temporary, path, overwrite: false);
        }
        catch (IOException) when (File.Exists(path))
        {
            File.Delete(temporary);
        }

        return File.ReadAllBytes(path);
    }
}
