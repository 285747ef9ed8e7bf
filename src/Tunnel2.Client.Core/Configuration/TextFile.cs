using System.Text;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Files of settings and certificates. A device in the place of one has no end, so they are read up to a limit.</summary>
internal static class TextFile
{
    /// <summary>Characters that a file may have: far more than 10,000 tunnels, or all authorities of a system, need.</summary>
    private const int Longest = 4 * 1024 * 1024;

    /// <summary>Reads a file.</summary>
    /// <exception cref="IOException">It cannot be read, or is longer than 4 Mi characters.</exception>
    /// <exception cref="UnauthorizedAccessException">It may not be read.</exception>
    public static string Read(string path)
    {
        using var reader = new StreamReader(path);
        var text = new StringBuilder();
        char[] buffer = new char[16 * 1024];
        while (reader.Read(buffer) is > 0 and var count)
        {
            text.Append(buffer, 0, count);
            if (text.Length > Longest)
            {
                throw new IOException($"It has more than {Longest} characters.");
            }
        }

        return text.ToString();
    }
}
