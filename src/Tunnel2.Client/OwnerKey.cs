using System.Security.Cryptography;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.Client;

/// <summary>
/// The secret by which a server knows a restarted agent without a token again. Made once for each user of a machine, in a file of that user
/// alone; each server gets another one made of it, so that none can use it at another.
/// </summary>
internal static class OwnerKey
{
    private const int Length = 32;
    private const string FileName = "agent.key";

    /// <summary>Finds or makes the key for a server.</summary>
    /// <param name="environment">The environment's variables.</param>
    /// <param name="server">The server that it is for.</param>
    /// <returns>The key; empty where there is no place for one, which costs a restarted agent a few seconds and nothing else.</returns>
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

        // Written beside and moved: of two first agents at once one wins, and both use what it wrote.
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
