using System.Buffers;
using System.Globalization;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Policies;

/// <summary>
/// Keeps policies in the state folder, a file for each, in the form in which people write them. The file's name says what it is for: so one
/// that cannot be read still closes the right tunnels. Files are for their owner only and are replaced as a whole. Used by one thread at a
/// time.
/// </summary>
internal sealed class PolicyStore
{
    /// <summary>How many policies are kept at most.</summary>
    public const int MaxPolicies = 500;

    /// <summary>The longest name of a target; a file system takes no longer one.</summary>
    public const int MaxNameLength = 200;

    private const string Ending = ".json";

    // A domain's wildcard is no character of a file's name everywhere. No name has an underscore at its front; an agent's id may.
    private const char WildcardInFiles = '_';

    private static readonly (PolicyScope Scope, string Folder)[] _folders =
        [(PolicyScope.Agent, "agents"), (PolicyScope.Token, "tokens"), (PolicyScope.Name, "names")];

    private static readonly Policy _closed = PolicyReader.Read("""[ { "deny": true } ]"""u8).Policy!;

    private static readonly SearchValues<char> _nameCharacters = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-.");

    private readonly string _stateFolder;
    private readonly bool _knowsCountries;

    /// <param name="stateFolder">The state folder.</param>
    /// <param name="knowsCountries">Whether the settings name the field with a visitor's country.</param>
    public PolicyStore(string stateFolder, bool knowsCountries)
    {
        _stateFolder = stateFolder;
        _knowsCountries = knowsCountries;
        Folder = StateFolder.PoliciesOf(stateFolder);
    }

    /// <summary>Where the policies are.</summary>
    public string Folder { get; }

    /// <summary>A text that changes when a file is added, replaced, written or removed. Null where the folder cannot be read.</summary>
    public string? Stamp()
    {
        try
        {
            return string.Join('\n', Files().Select(static file =>
            {
                var info = new FileInfo(file.Path);
                return string.Create(
                    CultureInfo.InvariantCulture, $"{file.Path} {info.LastWriteTimeUtc.Ticks} {(info.Exists ? info.Length : 0)}");
            }));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Reads all policies. One that cannot be used is there with its problem, and refuses every request.</summary>
    /// <exception cref="IOException">The folder cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read the folder.</exception>
    public IReadOnlyList<KeptPolicy> Load() => [.. Files().Select(file => Load(file.Path, file.Scope))];

    /// <summary>Keeps a policy in place of the one that the target had.</summary>
    /// <param name="target">What it is for; its name was checked, and has at most <see cref="MaxNameLength"/> characters.</param>
    /// <param name="policy">The policy.</param>
    /// <exception cref="IOException">It cannot be written; the one before stays.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public void Save(PolicyTarget target, Policy policy) => Save(target, policy.Text.Span, changed: null);

    /// <summary>As the other one, with the bytes of the file and, where it is given, the time when they were set.</summary>
    public void Save(PolicyTarget target, ReadOnlySpan<byte> text, DateTimeOffset? changed)
    {
        StateFolder.Create(_stateFolder);
        StateFolder.Create(Folder);
        var path = PathOf(target);
        StateFolder.Create(Path.GetDirectoryName(path)!);
        OwnerOnlyFile.Replace(path, text);
        if (changed is { } moment && moment > DateTimeOffset.UnixEpoch)
        {
            File.SetLastWriteTimeUtc(path, moment.UtcDateTime);
        }
    }

    /// <summary>Removes the policy of a target.</summary>
    /// <exception cref="IOException">It cannot be removed.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it.</exception>
    public void Delete(PolicyTarget target)
    {
        var path = PathOf(target);
        if (Directory.Exists(Path.GetDirectoryName(path)))
        {
            File.Delete(path);
        }
    }

    /// <summary>Reads the text of <see cref="PolicyTarget.ToString"/>, from a place where anything could be: it names a file.</summary>
    public static bool TryReadTarget(string text, out PolicyTarget target)
    {
        target = default;
        var space = text.IndexOf(' ', StringComparison.Ordinal);
        if (space < 0)
        {
            return false;
        }

        var name = text[(space + 1)..];
        var index = Array.FindIndex(
            _folders, folder => text.AsSpan(0, space).SequenceEqual(folder.Scope.ToString().ToLowerInvariant()));
        if (index < 0 || !IsName(_folders[index].Scope, name))
        {
            return false;
        }

        target = new PolicyTarget(_folders[index].Scope, name);
        return true;
    }

    /// <summary>Reads a policy. One that cannot be used has its problem, and refuses every request.</summary>
    public KeptPolicy Read(PolicyTarget target, byte[] text, DateTimeOffset changed) =>
        FindProblem(text, out var policy) is { } problem
            ? new KeptPolicy(target, _closed, changed)
            {
                Problem = problem,
                Unused = text.Length <= SharedDocument.LongestValue ? text : default,
            }
            : new KeptPolicy(target, policy!, changed);

    private static bool IsName(PolicyScope scope, string name) => scope switch
    {
        PolicyScope.Agent => StoredToken.IsAgentId(name) && !name.Any(char.IsAsciiLetterUpper) && name is not ("." or ".."),
        PolicyScope.Token => StoredToken.IsName(name),
        _ => name.Length is > 0 and <= MaxNameLength && name[0] != '.'
            && (name[0] == '*' ? name.AsSpan(1) : name).IndexOfAnyExcept(_nameCharacters) < 0,
    };

    private IEnumerable<(PolicyScope Scope, string Path)> Files() => _folders
        .Select(folder => (folder.Scope, Path: Path.Combine(Folder, folder.Folder)))
        .SelectMany(static folder => FilesOf(folder.Path).Order(StringComparer.Ordinal).Select(path => (folder.Scope, Path: path)))
        .Take(MaxPolicies);

    /// <summary>None only where there is no folder: one that may not be entered is no folder without policies.</summary>
    private static string[] FilesOf(string folder)
    {
        try
        {
            return Directory.GetFiles(folder, "*" + Ending);
        }
        catch (DirectoryNotFoundException)
        {
            return [];
        }
    }

    private KeptPolicy Load(string path, PolicyScope scope)
    {
        var name = Path.GetFileNameWithoutExtension(path);
        var target = new PolicyTarget(scope, scope == PolicyScope.Name && name.StartsWith(WildcardInFiles) ? $"*{name[1..]}" : name);
        var changed = DateTimeOffset.MinValue;
        try
        {
            OwnerOnlyFile.Narrow(path);
            var info = new FileInfo(path);
            changed = new DateTimeOffset(info.LastWriteTimeUtc, TimeSpan.Zero);
            if (info.Length > Policy.MaxFileLength)
            {
                var problem = FormattableString.Invariant($"it is longer than {Policy.MaxFileLength} bytes");
                return new KeptPolicy(target, _closed, changed) { Problem = problem };
            }

            return Read(target, File.ReadAllBytes(path), changed);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return new KeptPolicy(target, _closed, changed) { Problem = exception.Message };
        }
    }

    private string? FindProblem(byte[] text, out Policy? policy)
    {
        var reading = PolicyReader.Read(text);
        policy = reading.Policy;
        return policy is null ? string.Join("; ", reading.Mistakes)
            : policy.AsksForCountry && !_knowsCountries
                ? "it asks for visitors' countries, and Tunnel2:Access:CountryHeader is not set"
            : null;
    }

    private string PathOf(PolicyTarget target) => Path.Combine(
        Folder,
        Array.Find(_folders, folder => folder.Scope == target.Scope).Folder,
        (target.Name.StartsWith('*') ? $"{WildcardInFiles}{target.Name.AsSpan(1)}" : target.Name) + Ending);
}
