using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads the policy of a tunnel: a file, or in a file of tunnels the rows themselves.</summary>
internal static class PolicyOptionsParser
{
    /// <summary>Reads a policy into the options.</summary>
    /// <param name="text">The file's name, or a list in JSON.</param>
    /// <param name="options">The options.</param>
    /// <returns>Everything that is wrong with it, in one line; null: nothing.</returns>
    public static string? Read(string text, ref AgentOptions options)
    {
        var isInline = IsInline(text);
        byte[] bytes;
        if (isInline)
        {
            bytes = Encoding.UTF8.GetBytes(text);
        }
        else if (TryReadFile(text, out bytes) is { } problem)
        {
            return problem;
        }

        var reading = PolicyReader.Read(bytes);
        if (reading.Policy is not { } policy)
        {
            var mistakes = string.Join("; ", reading.Mistakes.Select(mistake => isInline && mistake.Row > 0
                ? FormattableString.Invariant($"row {mistake.Row}: {mistake.Message}")
                : isInline ? mistake.Message : mistake.ToString()));
            return isInline ? mistakes : $"{text}: {mistakes}";
        }

        options = options with { Access = (options.Access ?? new AccessRules()) with { Policy = policy.Text } };
        return null;
    }

    /// <summary>Whether a value has the rows themselves, and names no file.</summary>
    internal static bool IsInline(string text) => text.StartsWith('[') || text.StartsWith('{');

    /// <summary>Reads a file, up to a limit.</summary>
    /// <returns>Why it cannot be read; null: it is read.</returns>
    internal static string? TryReadFile(string path, out byte[] bytes)
    {
        bytes = [];
        try
        {
            using FileStream file = File.OpenRead(path);
            byte[] buffer = new byte[Policy.MaxFileLength + 1];
            int length = file.ReadAtLeast(buffer, buffer.Length, throwOnEndOfStream: false);
            bytes = buffer[..length];
            return length > Policy.MaxFileLength
                ? FormattableString.Invariant($"{path} is longer than {Policy.MaxFileLength} bytes")
                : null;
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return $"{path} cannot be read: {FileFailure.Reason(path, exception)}";
        }
    }
}
