using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>A file with an agent's token. Nothing of it is ever shown.</summary>
internal static class TokenFile
{
    /// <summary>The setting that names it.</summary>
    public const string Flag = "--token-file";

    /// <summary>More than any token has, with its line break.</summary>
    private const int MostCharacters = 2048;

    private static readonly char[] _lineBreaks = ['\r', '\n'];

    /// <summary>Reads the token, without the line break after it.</summary>
    /// <returns>Why there is none; null: there is one.</returns>
    public static string? TryRead(string path, out string? token)
    {
        token = null;
        try
        {
            using var reader = new StreamReader(path);
            char[] text = new char[MostCharacters + 1];
            int length = reader.ReadBlock(text);
            token = length > MostCharacters ? "" : new string(text, 0, length).TrimEnd(_lineBreaks);
            return null;
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return $"cannot be read: {FileFailure.Reason(path, exception)}";
        }
    }
}
