using System.Buffers;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Configuration;

/// Checks of single values and of several together, and the values that follow from them.
internal sealed partial class ProxyEntrySettings
{
    /// <summary>Descriptors of an event loop: its own two, and one for each listener of visitors.</summary>
    private const int FilesPerLoop = 4;

    /// <summary>Descriptors that <c>auto</c> counts for each loop after the first, so that loops leave room for connections.</summary>
    private const int FilesPerAutoLoop = 4 * FilesPerLoop;

    private static readonly SearchValues<char> _nameCharacters = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-");

    /// <summary>The certificate for HTTPS; null with a self-made one, or without HTTPS.</summary>
    public CertificateSource? HttpsCertificate { get; private set; }

    /// <summary>How the uplink is protected, and whose certificate it uses.</summary>
    public UplinkSecurity UplinkSecurity { get; private set; }

    /// <summary>The certificate for TLS on the uplink; not null exactly with <see cref="UplinkSecurity.Certificate"/>.</summary>
    public CertificateSource? UplinkCertificate { get; private set; }

    /// <summary>How the relay is protected, and whose certificate it uses.</summary>
    public UplinkSecurity RelaySecurity { get; private set; }

    /// <summary>The certificate for TLS at the relay; not null exactly with <see cref="UplinkSecurity.Certificate"/>.</summary>
    public CertificateSource? RelayCertificate { get; private set; }

    /// <summary>Event loops, where the engine has any.</summary>
    public int Loops { get; private set; }

    /// <summary>Whether an agent without a token is accepted.</summary>
    public bool AnonymousAgentsAllowed => _allowAnonymous ?? IPAddress.IsLoopback(UplinkListen.Address);

    /// <summary>Whether an agent without a token is accepted from any machine, because the settings say so.</summary>
    public bool AnonymousAgentsAllowedAnywhere => _allowAnonymous == true;

    /// <summary>Whether agents of other machines may connect without TLS.</summary>
    public bool PlaintextAgentsAllowed => _allowPlaintext;

    /// <summary>Agents with a token or a certificate, at the start; <see cref="AgentRegistry"/> has the current ones.</summary>
    public AgentTable Agents { get; private set; } = null!;

    /// <summary>
    /// Reports settings that contradict each other, and computes values that follow from several. Reads certificate files.
    /// </summary>
    public void Check(SettingsReader read)
    {
        CheckListeners(read);
        Loops = ChooseLoops(read);
        UplinkCertificate = LoadCertificate(read, SettingKeys.UplinkCertificate, _uplinkCertificate, _uplinkKey, _uplinkPassword);
        var own = LoadCertificate(read, SettingKeys.PublicCertificate, _publicCertificate, _publicKey, _publicPassword);
        HttpsCertificate = IsSelfMade(_publicCertificate) ? null : own ?? UplinkCertificate;

        // Off loopback there is TLS unless the settings ask for plaintext. So the operator is safe without making a certificate.
        UplinkSecurity = IsSelfMade(_uplinkCertificate) ? UplinkSecurity.SelfMade
            : _uplinkCertificate is not null ? UplinkSecurity.Certificate
            : _allowPlaintext || IPAddress.IsLoopback(UplinkListen.Address) ? UplinkSecurity.Plaintext
            : UplinkSecurity.SelfMade;
        ProtectRelay(LoadCertificate(read, SettingKeys.RelayCertificate, _relayCertificate, _relayKey, _relayPassword));

        if (JwtIssuers.GroupBy(static issuer => issuer.Name).FirstOrDefault(static same => same.Count() > 1) is { } twice)
        {
            read.Report("Access:JwtIssuers", $"has {twice.Key} more than once.");
        }

        OidcEntry.Check(read, Gates);
        string[] gates = [.. Gates.Select(static gate => gate.Name)];
        var tiers = TierEntry.Check(read, _tiers);
        var agents = new AgentsCheck(read, tiers, gates, Domain).Make(_agents);
        Agents = new AgentTable(agents, tiers) { Issuers = JwtIssuers, Gates = [.. gates] };
        CheckAgentsCanConnect(read);
        CheckStateFolder(read);
        CheckCountries(read);
        CheckClientCa(read);
        VisitorUrl?.Check(read, Domain);
        Https.Check(read, HttpsListen is not null || VisitorUrl is { IsSecure: true });
        Acme.Check(read, HttpListen is not null, HttpsListen is not null);
        AccessLog.Check(read);
        Telemetry.Check(read);
        Hub.Check(read);
        NodeLinks.Check(read, StateFolder, EntryId);
        Cluster.Check(read, StateFolder);
        CheckVisitorsCertificates(read);
        SettingsWithoutEffect.Report(read);
    }

    /// <summary>A certificate is shown in the TLS handshake with the server: without HTTPS only other nodes let visitors in.</summary>
    private void CheckVisitorsCertificates(SettingsReader read)
    {
        foreach (var agent in _agents)
        {
            if (HttpsListen is null && NodeLinks.Listen is null && agent.VisitorAuthorities is not null
                && !read.HasError(SettingKeys.HttpsListen))
            {
                read.Report(
                    $"{SettingKeys.Agents}:{agent.Id}:{AgentEntry.ClientCaKey}",
                    $"lets no visitor in without {SettingKeys.Section}:{SettingKeys.HttpsListen}.");
            }
        }
    }

    /// <summary>A server would keep nothing, and say so only when something is to be kept, or after a restart.</summary>
    private void CheckStateFolder(SettingsReader read)
    {
        for (var path = StateFolder; path?.Length > 0 && !Directory.Exists(path); path = Path.GetDirectoryName(path))
        {
            if (SettingFile.FolderMistake(path) is { } mistake)
            {
                read.Report(SettingKeys.StateFolder, $"{SettingsErrorFormatter.Quote(path)} {mistake}");
                return;
            }
        }
    }

    private void CheckCountries(SettingsReader read)
    {
        if (CountryHeader is not null && TrustedProxies.IsEmpty && !read.HasError(SettingKeys.TrustedProxies))
        {
            read.Report(SettingKeys.CountryHeader, "is given, but Tunnel2:TrustedProxies has no address whose header would be believed.");
        }

        foreach (var agent in _agents)
        {
            if (CountryHeader is null && agent.Policy is { AsksForCountry: true })
            {
                read.Report(
                    $"{SettingKeys.Agents}:{agent.Id}:{AgentEntry.PolicyKey}",
                    $"asks for visitors' countries, and {SettingKeys.Section}:{SettingKeys.CountryHeader} names no header that has them.");
            }
        }
    }

    private void CheckListeners(SettingsReader read)
    {
        (string Key, IPEndPoint? EndPoint)[] listeners =
        [
            (SettingKeys.HttpListen, HttpListen), (SettingKeys.HttpsListen, HttpsListen), (SettingKeys.UplinkListen, UplinkListen),
            (SettingKeys.AdminListen, AdminListen), (SettingKeys.TlsListen, TlsListen), (SettingKeys.ClusterListen, NodeLinks.Listen),
        ];
        for (var i = 0; i < listeners.Length; i++)
        {
            for (var j = 0; j < i; j++)
            {
                if (listeners[i].EndPoint is { Port: not 0 } endPoint && endPoint.Equals(listeners[j].EndPoint)
                    && !read.HasError(listeners[i].Key) && !read.HasError(listeners[j].Key))
                {
                    read.Report(listeners[i].Key, $"{endPoint} is already used by {SettingKeys.Section}:{listeners[j].Key}.");
                }
            }
        }

        if (HttpListen is null && HttpsListen is null)
        {
            read.Report(SettingKeys.HttpListen, "is off, and so is Tunnel2:Public:HttpsListen: no visitor could call.");
        }

        if (ProxyProtocol && TrustedProxies.IsEmpty && !read.HasError(SettingKeys.TrustedProxies))
        {
            read.Report(SettingKeys.ProxyProtocol, "is on, but Tunnel2:TrustedProxies has no address whose header would be believed.");
        }

        if (HttpsListen is not null && _publicCertificate is null && _uplinkCertificate is null && CertificateFolder is null
            && Acme.Directory is null)
        {
            read.Report(
                SettingKeys.HttpsListen,
                "HTTPS needs Tunnel2:Public:Certificate: a file (or Tunnel2:Uplink:Certificate, when one serves both), "
                + "or self-made for trials; or Tunnel2:Public:CertificateFolder or Tunnel2:Acme:Directory.");
        }

        if (CertificateFolder is { } folder && SettingFile.RequiredFolderMistake(folder) is { } mistake)
        {
            read.Report(SettingKeys.CertificateFolder, $"{SettingsErrorFormatter.Quote(folder)} {mistake}");
        }

        if (!IPAddress.IsLoopback(AdminListen.Address) && AdminToken is null && !read.HasError(SettingKeys.AdminToken))
        {
            read.Report(
                SettingKeys.AdminListen,
                $"{AdminListen} can be reached from other machines without a token: any caller could read metrics and use the API. "
                + "Set Tunnel2:Admin:Token or listen on 127.0.0.1.");
        }

        if (AdminMetricsToken is { } metrics && !read.HasError(SettingKeys.AdminToken))
        {
            if (AdminToken is null)
            {
                read.Report(
                    SettingKeys.AdminMetricsToken,
                    "has no effect without Tunnel2:Admin:Token: everybody who reaches Tunnel2:Admin:Listen may read metrics.");
            }
            else if (metrics.IsSameAs(AdminToken))
            {
                read.Report(SettingKeys.AdminMetricsToken, "is the same token as Tunnel2:Admin:Token, so it would open everything.");
            }
        }

        if (RelayListen is { } relay && !IPAddress.IsLoopback(relay.Address) && !_relayMayBeOpen && AdminToken is null
            && !read.HasError(SettingKeys.AdminToken))
        {
            read.Report(
                SettingKeys.RelayListen,
                $"{relay} can be reached from other machines without a token: any caller could see every request. "
                + "Set Tunnel2:Admin:Token, or Tunnel2:Relay:AllowRemote=true if the network is private.");
        }
    }

    /// <summary>As for the uplink: off loopback there is TLS unless the settings ask for plaintext.</summary>
    private void ProtectRelay(CertificateSource? own)
    {
        if (IsSelfMade(_relayCertificate))
        {
            RelaySecurity = UplinkSecurity.SelfMade;
        }
        else if (_relayCertificate is not null)
        {
            RelaySecurity = UplinkSecurity.Certificate;
            RelayCertificate = own;
        }
        else if (RelayListen is { } relay && !IPAddress.IsLoopback(relay.Address) && !_relayMayBeOpen)
        {
            RelaySecurity = UplinkSecurity == UplinkSecurity.Certificate ? UplinkSecurity.Certificate : UplinkSecurity.SelfMade;
            RelayCertificate = UplinkCertificate;
        }
    }

    private void CheckAgentsCanConnect(SettingsReader read)
    {
        // The API makes tokens at any time: where there are some, where the cluster may have them, and where the settings say so.
        if (AnonymousAgentsAllowed || _allowAnonymous == false || _agents.Count > 0 || Cluster.Database is not null
            || Directory.Exists(Configuration.StateFolder.TokensOf(StateFolder)))
        {
            return;
        }

        read.Report(
            SettingKeys.UplinkListen,
            $"{UplinkListen} can be reached from other machines and no agent has a token: any program could publish a service here. "
            + "Add Tunnel2:Agents:<id>:TokenHash (tunnel2-entry token create prints one); or set Tunnel2:AllowAnonymousAgents=false and "
            + "make tokens while the server runs (tunnel2-entry token create --keep); or set Tunnel2:AllowAnonymousAgents=true.");
    }

    private void CheckClientCa(SettingsReader read)
    {
        if (UplinkClientCa is not { } path)
        {
            if (_agents.Any(static agent => agent.CertificateName is not null))
            {
                read.Report(SettingKeys.UplinkClientCa, "is missing, but an agent has a CertificateName: name the authority of it.");
            }

            return;
        }

        if (UplinkSecurity == UplinkSecurity.Plaintext)
        {
            read.Report(SettingKeys.UplinkClientCa, "needs TLS on the uplink; set Tunnel2:Uplink:Certificate (a path, or self-made).");
        }

        if (!ClientAuthorities.TryLoad(path, out _, out var problem))
        {
            read.Report(SettingKeys.UplinkClientCa, $"{SettingsErrorFormatter.Quote(path)} cannot be used: {problem}");
        }
    }

    private int ChooseLoops(SettingsReader read)
    {
        if (EngineSetup.FindObstacle(Engine, EngineSetup.HasEpoll) is { } obstacle)
        {
            read.Report(SettingKeys.Engine, $"epoll {obstacle}.");
        }

        if (_loops is not { } loops)
        {
            return read.Files is not { } limit
                ? EngineSetup.AutoLoops
                : Math.Clamp(1 + ((limit - DescriptorBudget.LeastFiles) / FilesPerAutoLoop), 1, EngineSetup.AutoLoops);
        }

        var needed = DescriptorBudget.LeastFiles + (FilesPerLoop * loops);
        if (loops > 1 && needed > read.Files && Engine != EngineMode.Portable)
        {
            read.Report(
                SettingKeys.Loops,
                $"{loops} event loops need {needed} files, and this process may have only {read.Files} open: use fewer, or raise the limit "
                + "(ulimit -n, LimitNOFILE).");
        }

        return loops;
    }

    /// <summary>The certificate in a file, which is read to check it; null if there is no file.</summary>
    private static CertificateSource? LoadCertificate(SettingsReader read, string key, string? path, string? keyPath, string? password)
    {
        if (path is null || IsSelfMade(path))
        {
            if (keyPath is not null || password is not null)
            {
                read.Report(
                    key,
                    path is null
                        ? "is missing, but a key or a password for it is set."
                        : "is self-made and makes its own key, but a key or a password for it is set.");
            }

            return null;
        }

        var source = new CertificateSource(path, keyPath, password);
        var intermediates = new X509Certificate2Collection();
        try
        {
            using var certificate = source.Load(intermediates);
            return source;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            read.Report(key, $"{SettingsErrorFormatter.Quote(path)} cannot be used: {FileFailure.Reason(path, e)}");
            return null;
        }
        finally
        {
            foreach (var certificate in intermediates)
            {
                certificate.Dispose();
            }
        }
    }

    private static bool IsSelfMade(string? certificate) => string.Equals(certificate, "self-made", StringComparison.OrdinalIgnoreCase);

    private static TimeSpan OffIsZero(TimeSpan value) => value == Timeout.InfiniteTimeSpan ? TimeSpan.Zero : value;

    private static string? ParseAdminToken(string text, out TokenHash? value)
    {
        value = TokenHash.FromToken(text);
        return text.AsSpan().IndexOfAnyExceptInRange('!', '~') >= 0
            ? "may have visible ASCII characters only, because it travels in a header."
            : null;
    }

    private static string? ParseOptionalSwitch(string text, out bool? value)
    {
        var mistake = SettingValues.ParseSwitch(text, out var result);
        value = result;
        return mistake;
    }

    private static string? ParseEngine(string text, out EngineMode value) =>
        EngineSetup.FindMistake(text, out value) is { } mistake ? mistake + "." : null;

    private static string? ParseSlots(string text, out int value) =>
        SettingValues.ParseNumber(text, 64, 1 << 24, out value) is null && int.IsPow2(value)
            ? null
            : "is not a power of two from 64 to 16777216.";

    private static string? ParseEntryId(string text, out string value)
    {
        value = text.ToLowerInvariant();
        return IsLabel(value, 12) ? null : "is not 1 to 12 characters of [a-z0-9-] without a hyphen at its ends.";
    }

    private static string? ParseDomain(string text, out string value)
    {
        var domain = value = text.EndsWith('.') ? text[..^1].ToLowerInvariant() : text.ToLowerInvariant();

        // A name and an entry id come before it: they need 63 characters and a dot of the 253 that DNS allows.
        if (domain.Length is 0 or > 189)
        {
            return "is not a domain of 1 to 189 characters.";
        }

        var labels = domain.Split('.');
        return domain.Contains(':') || labels[^1].AsSpan().IndexOfAnyExceptInRange('0', '9') < 0
            ? "has a port or is an IP address; a plain domain is needed, because names go in front of it."
            : labels.All(static label => IsLabel(label, 63))
                ? null
                : "is not a domain: each part has 1 to 63 of [a-z0-9-], no hyphen at its ends (xn-- for others).";
    }

    private static bool IsLabel(string text, int maxLength) =>
        text.Length > 0 && text.Length <= maxLength && text[0] != '-' && text[^1] != '-'
        && !text.AsSpan().ContainsAnyExcept(_nameCharacters);
}
