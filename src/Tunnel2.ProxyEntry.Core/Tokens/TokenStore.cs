using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Tokens;

/// <summary>
/// Keeps tokens in the state folder, a file for each: so two processes with one folder, as during a restart, do not write over each
/// other's. Files are for their owner only and are replaced as a whole. Used by one thread at a time.
/// </summary>
internal sealed class TokenStore
{
    /// <summary>How many tokens are kept at most.</summary>
    public const int MaxTokens = 1000;

    private const string Ending = ".json";
    private const int LongestFile = 16 * 1024;
    private const int LongestUses = 1024 * 1024;

    private readonly string _stateFolder;
    private readonly string _uses;

    public TokenStore(string stateFolder)
    {
        _stateFolder = stateFolder;
        Folder = StateFolder.TokensOf(stateFolder);

        // Beside the folder and not in it: the time of the folder's last change is that of the last token.
        _uses = Path.Combine(stateFolder, "token-uses" + Ending);
    }

    /// <summary>Where the tokens are.</summary>
    public string Folder { get; }

    /// <summary>A text that changes when a file is added, replaced, written or removed. Null where the folder cannot be read.</summary>
    public string? Stamp()
    {
        try
        {
            return string.Join('\n', Files().Select(static path =>
            {
                var file = new FileInfo(path);
                return string.Create(
                    CultureInfo.InvariantCulture, $"{path} {file.LastWriteTimeUtc.Ticks} {(file.Exists ? file.Length : 0)}");
            }));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Reads all tokens.</summary>
    /// <param name="refused">Receives the files that cannot be used, and why.</param>
    /// <exception cref="IOException">The folder cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read the folder.</exception>
    public IReadOnlyList<StoredToken> Load(ICollection<(string Path, string Reason)> refused)
    {
        var tokens = new List<StoredToken>();
        foreach (var path in Files())
        {
            var reason = FormattableString.Invariant($"more than {MaxTokens} tokens are not used");
            if (tokens.Count < MaxTokens && Load(path, out reason) is { } token)
            {
                tokens.Add(token);
            }
            else
            {
                refused.Add((path, reason));
            }
        }

        return tokens;
    }

    /// <summary>Keeps a new token.</summary>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public void Save(StoredToken token)
    {
        StateFolder.Create(_stateFolder);
        StateFolder.Create(Folder);
        OwnerOnlyFile.Replace(PathOf(token.Name), TokenFile.Write(token));
    }

    /// <summary>Removes a token.</summary>
    /// <exception cref="IOException">It cannot be removed.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it.</exception>
    public void Delete(string name)
    {
        if (Directory.Exists(Folder))
        {
            File.Delete(PathOf(name));
        }
    }

    /// <summary>When tokens were used last. What cannot be read counts as not known.</summary>
    public IReadOnlyList<KeyValuePair<string, DateTimeOffset>> LoadUses()
    {
        try
        {
            if (!File.Exists(_uses) || new FileInfo(_uses).Length > LongestUses)
            {
                return [];
            }

            using var document = JsonDocument.Parse(File.ReadAllBytes(_uses), new JsonDocumentOptions { MaxDepth = 2 });
            var uses = new List<KeyValuePair<string, DateTimeOffset>>();
            foreach (var member in document.RootElement.EnumerateObject())
            {
                if (uses.Count < MaxTokens && StoredToken.IsName(member.Name)
                    && member.Value.ValueKind == JsonValueKind.String && member.Value.TryGetDateTimeOffset(out var moment))
                {
                    uses.Add(KeyValuePair.Create(member.Name, moment));
                }
            }

            return uses;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or JsonException
            or InvalidOperationException)
        {
            return [];
        }
    }

    /// <summary>Writes down when tokens were used last.</summary>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public void SaveUses(IEnumerable<KeyValuePair<string, DateTimeOffset>> uses)
    {
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output))
        {
            json.WriteStartObject();
            foreach (var (token, moment) in uses.Take(MaxTokens))
            {
                json.WriteString(token, moment.UtcDateTime.ToString("O", CultureInfo.InvariantCulture));
            }

            json.WriteEndObject();
        }

        OwnerOnlyFile.Replace(_uses, output.ToArray());
    }

    private IEnumerable<string> Files() =>
        Directory.Exists(Folder) ? Directory.EnumerateFiles(Folder, "*" + Ending).Order(StringComparer.Ordinal) : [];

    private static StoredToken? Load(string path, out string reason)
    {
        try
        {
            OwnerOnlyFile.Narrow(path);
            if (new FileInfo(path).Length <= LongestFile)
            {
                return TokenFile.Read(File.ReadAllBytes(path), Path.GetFileNameWithoutExtension(path), out reason);
            }

            reason = "it is too long";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            reason = exception.Message;
        }

        return null;
    }

    private string PathOf(string name) => Path.Combine(Folder, name + Ending);
}
