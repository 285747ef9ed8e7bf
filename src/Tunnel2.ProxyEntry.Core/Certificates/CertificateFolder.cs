using System.Security.Cryptography;
using System.Text;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// The certificates of a folder, chosen by the name that a visitor asks for, and read again when files change. A pair that cannot be used
/// (half written, key of another certificate) is logged once and disturbs no other; the pair that was read before it stays in use. A pair
/// whose files are gone stays for a few looks, because tools replace files in two steps. <see cref="Find"/> is thread-safe; the rest is for
/// the reload loop alone.
/// </summary>
internal sealed class CertificateFolder : INamedCertificates, IReloadable
{
    /// <summary>How many certificates are read at most.</summary>
    public const int MaxCertificates = 1000;

    /// <summary>How large a file may be, in bytes.</summary>
    public const int MaxFile = 256 * 1024;

    /// <summary>At how many looks in a row a pair must be gone before it counts as removed.</summary>
    public const int LooksUntilGone = 3;

    private readonly string _folder;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly Dictionary<string, Pair> _pairs = new(StringComparer.Ordinal);
    private volatile CertificateIndex _index = CertificateIndex.Empty;
    private volatile int _refused;
    private volatile IReadOnlyList<CertificateRefusal> _refusals = [];
    private DateTime _rebuildAt = DateTime.MaxValue;
    private string _problem = "";

    /// <summary>Reads the folder. Never throws: what cannot be read is logged.</summary>
    public CertificateFolder(string folder, TimeProvider timeProvider, ILogger logger)
    {
        _folder = folder;
        _timeProvider = timeProvider;
        _logger = logger;
        ReloadIfChanged();
    }

    /// <inheritdoc/>
    public IReadOnlyList<CertificateFacts> First => _index.First;

    /// <inheritdoc/>
    public int Count => _index.Count;

    /// <inheritdoc/>
    public int Refused => _refused;

    /// <inheritdoc/>
    public IReadOnlyList<CertificateRefusal> Refusals => _refusals;

    /// <inheritdoc/>
    public string Origin => "folder";

    /// <inheritdoc/>
    public ServerCertificate? Find(string name) => _index.Find(name, Now);

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        try
        {
            var found = PemPairs.In(_folder).Take(MaxCertificates + 1).ToList();
            var isTooMany = found.Count > MaxCertificates;
            Report(isTooMany ? $"there are more than {MaxCertificates} certificates, and the others are left out" : "");
            Look(isTooMany ? found[..MaxCertificates] : found);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // All certificates stay: the folder may be a mount that comes back.
            Report(OneLine(exception));
        }
    }

    private DateTime Now => _timeProvider.GetUtcNow().UtcDateTime;

    private void Look(List<(string Chain, string Key)> found)
    {
        var hasChanged = false;
        foreach (var (chain, key) in found)
        {
            if (!_pairs.TryGetValue(chain, out var pair))
            {
                _pairs[chain] = pair = new Pair();
            }

            pair.Missing = 0;
            hasChanged |= Look(pair, chain, key);
        }

        var present = found.Select(static pair => pair.Chain).ToHashSet(StringComparer.Ordinal);
        foreach (var (chain, pair) in _pairs.ToArray())
        {
            if (!present.Contains(chain) && ++pair.Missing >= LooksUntilGone)
            {
                _pairs.Remove(chain);
                hasChanged |= pair.Current is not null;
                ProxyEntryLog.FolderCertificateGone(_logger, chain);
            }
        }

        _refused = _pairs.Values.Count(static pair => pair.Reason.Length > 0);
        _refusals =
        [
            .. _pairs.Where(static pair => pair.Value.Reason.Length > 0)
                .OrderBy(static pair => pair.Key, StringComparer.Ordinal)
                .Take(CertificateRefusal.MostShown)
                .Select(pair => new CertificateRefusal(Path.GetRelativePath(_folder, pair.Key), pair.Value.Reason)),
        ];
        if (hasChanged || Now >= _rebuildAt)
        {
            Build();
        }
    }

    /// <returns>Whether there is another certificate now.</returns>
    private bool Look(Pair pair, string chain, string key)
    {
        byte[] seen;
        string chainText;
        string keyText;
        try
        {
            var chainBytes = Read(chain);
            var keyBytes = key == chain ? chainBytes : Read(key);
            seen = [.. SHA256.HashData(chainBytes), .. SHA256.HashData(keyBytes)];
            if (seen.AsSpan().SequenceEqual(pair.Seen))
            {
                pair.Reason = pair.IsSeenInUse ? "" : pair.Reason;
                return false;
            }

            (chainText, keyText) = (Encoding.UTF8.GetString(chainBytes), Encoding.UTF8.GetString(keyBytes));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            Refuse(pair, chain, OneLine(exception));
            return false;
        }

        pair.Seen = seen;
        pair.IsSeenInUse = false;
        try
        {
            var loaded = NamedCertificate.Load(chain, chainText, keyText);
            (pair.Current, pair.IsSeenInUse, pair.Reason) = (loaded, true, "");
            var certificate = loaded.Certificate;
            ProxyEntryLog.FolderCertificateInUse(_logger, chain, NamedCertificate.Words(loaded.Names), certificate.Until);
            if (Now < certificate.NotBefore || Now > certificate.NotAfter)
            {
                ProxyEntryLog.PublicCertificateNotValidNow(_logger, chain, certificate.Until);
            }

            return true;
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException or FormatException)
        {
            Refuse(pair, chain, OneLine(exception));
            return false;
        }
    }

    private void Build()
    {
        var now = Now;
        var all = _pairs.Values.Select(static pair => pair.Current).OfType<NamedCertificate>().ToList();
        _index = CertificateIndex.Build(all, now);

        // Which of two certificates for a name is the better one may change when one of them begins or ends.
        _rebuildAt = all
            .SelectMany(static one => new[] { one.Certificate.NotBefore, one.Certificate.NotAfter })
            .Where(moment => moment > now)
            .DefaultIfEmpty(DateTime.MaxValue)
            .Min();
    }

    private void Refuse(Pair pair, string chain, string reason)
    {
        if (pair.Reason == reason)
        {
            return;
        }

        pair.Reason = reason;
        if (pair.Current is null)
        {
            ProxyEntryLog.FolderCertificateRefused(_logger, chain, reason);
        }
        else
        {
            ProxyEntryLog.CertificateNotReloaded(_logger, chain, reason);
        }
    }

    private void Report(string problem)
    {
        if (problem.Length > 0 && problem != _problem)
        {
            ProxyEntryLog.CertificateFolderProblem(_logger, _folder, problem);
        }

        _problem = problem;
    }

    private static byte[] Read(string path)
    {
        SettingFile.Require(path);
        using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
        var buffer = new byte[4096];
        var length = 0;
        while (true)
        {
            var read = file.Read(buffer, length, buffer.Length - length);
            length += read;
            if (read == 0)
            {
                return buffer[..length];
            }

            if (length > MaxFile)
            {
                throw new IOException($"The file is larger than {MaxFile / 1024} KiB.");
            }

            if (length == buffer.Length)
            {
                Array.Resize(ref buffer, 2 * length);
            }
        }
    }

    private static string OneLine(Exception exception) => exception.Message.ReplaceLineEndings(" ");

    /// <summary>What is known of a certificate and its key.</summary>
    private sealed class Pair
    {
        /// <summary>The hash of the contents that were read last.</summary>
        public byte[] Seen { get; set; } = [];

        /// <summary>Whether these contents are in use.</summary>
        public bool IsSeenInUse { get; set; }

        public NamedCertificate? Current { get; set; }

        /// <summary>Why the last contents are not in use; empty when they are.</summary>
        public string Reason { get; set; } = "";

        /// <summary>At how many looks in a row the files were gone.</summary>
        public int Missing { get; set; }
    }
}
