using System.Buffers;
using System.Collections.Immutable;
using System.Globalization;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Checks options, one by one and against each other, and makes the settings of them. One use per instance.</summary>
internal sealed partial class SettingsBuilder
{
    private const int MaxEntryIdLength = 12;
    private static readonly SearchValues<char> _nameCharacters = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-");
    private static readonly TimeSpan _shortestTimeout = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan _longestConnect = TimeSpan.FromMinutes(10);
    private static readonly TimeSpan _longestPark = TimeSpan.FromMinutes(1);
    private static readonly TimeSpan _longestTimeout = TimeSpan.FromDays(1);

    private readonly ProxyEntryOptions _options;
    private readonly List<SettingsError> _errors;

    public SettingsBuilder(ProxyEntryOptions options, List<SettingsError> errors, int? files)
    {
        _options = options;
        _files = files;
        _errors = errors;
    }

    /// <summary>Makes the settings; they mean nothing when mistakes were added to the list.</summary>
    public ProxyEntrySettings? Build()
    {
        var http = ParseListenOrOff(SettingKeys.HttpListen, _options.Public.HttpListen);
        var https = ParseListenOrOff(SettingKeys.HttpsListen, _options.Public.HttpsListen);
        var uplink = ParseListen(SettingKeys.UplinkListen, _options.Uplink.Listen);
        var admin = ParseListen(SettingKeys.AdminListen, _options.Admin.Listen);
        CheckListenersDiffer(http, https, uplink, admin);

        var domain = CheckDomain();
        var entryId = CheckEntryId();
        var loops = CheckEngine();
        var security = ChooseUplinkSecurity(uplink);
        var uplinkCertificate = CheckCertificate(
            SettingKeys.UplinkCertificate, OwnUplinkCertificate, _options.Uplink.CertificateKey, _options.Uplink.CertificatePassword);
        var publicCertificate = CheckCertificate(
            SettingKeys.PublicCertificate, OwnPublicCertificate, _options.Public.CertificateKey, _options.Public.CertificatePassword);
        var tiers = TierSettingsBuilder.Build(_options, Report);
        var agents = new AgentSettingsBuilder(_options, tiers, _errors).Build();
        var anonymous = _options.AllowAnonymousAgents ?? (uplink is not null && IPAddress.IsLoopback(uplink.Address));

        CheckPublicListeners(http, https);
        CheckUplinkIsSafe(uplink, anonymous);
        var clientCa = CheckClientCa(security);
        CheckAdminIsSafe(admin);
        CheckRange(SettingKeys.BackendConnect, _options.Timeouts.BackendConnect, _longestConnect, mayBeOff: false);
        CheckRange(SettingKeys.BackendHeaders, _options.Timeouts.BackendHeaders, _longestTimeout, mayBeOff: true);
        CheckRange(SettingKeys.BodyIdle, _options.Timeouts.BodyIdle, _longestTimeout, mayBeOff: true);
        CheckRange(SettingKeys.Park, _options.Timeouts.Park, _longestPark, mayBeOff: true);
        CheckRange(SettingKeys.DrainDelay, _options.Timeouts.DrainDelay, _longestConnect, mayBeOff: true);
        CheckRange(SettingKeys.Drain, _options.Timeouts.Drain, _longestTimeout, mayBeOff: false);
        CheckBounds(SettingKeys.ParkingPerName, _options.Parking.PerName, 0, 1_000_000);
        CheckBounds(SettingKeys.ParkingTotal, _options.Parking.Total, 0, 1_000_000);
        CheckBounds(SettingKeys.ParkingMegabytes, _options.Parking.Megabytes, 1, 65_536);
        CheckBounds(SettingKeys.BufferMegabytes, _options.Limits.BufferMegabytes, _options.Limits.BufferMegabytes == 0 ? 0 : 16, 65_536);
        CheckVisitorLimits();
        CheckConnectionLimits();
        var trustedProxies = CheckTrustedProxies();
        var relay = CheckLive();
        var accessLog = AccessLogKeys.Check(_options.AccessLog, Report);

        var telemetry = TelemetryKeys.Check(_options.Telemetry, Report);
        if (_errors.Count > 0 || uplink is null || admin is null)
        {
            return null;
        }

        return new ProxyEntrySettings
        {
            HttpListen = http,
            HttpsListen = https,
            HttpsCertificate = IsSelfMade(_options.Public.Certificate) ? null : publicCertificate ?? uplinkCertificate,
            UplinkListen = uplink,
            UplinkSecurity = security,
            UplinkCertificate = uplinkCertificate,
            UplinkClientCa = clientCa,
            FailuresPerMinute = _options.Uplink.FailuresPerMinute,
            StateFolder = _options.StateFolder?.Trim() ?? Configuration.StateFolder.Default(),
            AdminListen = admin,
            AdminToken = _options.Admin.Token is { } token ? TokenHash.FromToken(token) : null,
            Domain = domain,
            EntryId = entryId,
            TestMode = _options.TestMode,
            Engine = _options.Engine,
            Loops = loops,
            AnonymousAgentsAllowed = anonymous,
            Agents = new AgentTable(agents, tiers),
            TrustedProxies = new TrustedProxySet(trustedProxies),
            BackendConnectTimeout = _options.Timeouts.BackendConnect,
            BackendHeadersTimeout = _options.Timeouts.BackendHeaders,
            BodyIdleTimeout = _options.Timeouts.BodyIdle,
            AccessLog = accessLog,
            Telemetry = telemetry,
            ParkTimeout = OffIsZero(_options.Timeouts.Park),
            ParkedPerName = _options.Parking.PerName,
            ParkedTotal = _options.Parking.Total,
            ParkedBytes = _options.Parking.Megabytes * 1024L * 1024,
            DrainDelay = OffIsZero(_options.Timeouts.DrainDelay),
            DrainTimeout = _options.Timeouts.Drain,
            RequestHeadTimeout = _options.Timeouts.RequestHead,
            KeepAliveTimeout = _options.Timeouts.KeepAlive,
            HalfClosedTimeout = _options.Timeouts.HalfClosed,
            MaxRequestHeadBytes = _options.Limits.RequestHeadBytes,
            MaxRequestFields = _options.Limits.RequestFields,
            MaxRequestLineBytes = _options.Limits.RequestLineBytes,
            BufferBytes = _options.Limits.BufferMegabytes == 0 ? null : _options.Limits.BufferMegabytes * 1024L * 1024,
            MaxRequestBodyBytes = _options.Limits.RequestBodyBytes < 0 ? null : _options.Limits.RequestBodyBytes,
            LogLevel = _options.LogLevel,
            Live = _options.Live,
            LiveQuery = _options.LiveQuery,
            RingFile = _options.Ring.File,
            RingSlots = _options.Ring.Slots,
            RelayListen = relay,
            MaxConnections = _options.Limits.Connections,
            MaxConnectionsPerAddress = _options.Limits.ConnectionsPerAddress,
            UplinkConnections = _options.Uplink.Connections,
            UplinkHandshakes = _options.Uplink.Handshakes,
            SessionsPerAgent = _options.Uplink.SessionsPerAgent,
            AdminConnections = _options.Admin.Connections,
            HubMaxConnections = _options.Hub.MaxConnections,
            HubConnectionsPerAddress = _options.Hub.ConnectionsPerAddress,
        };
    }

    private IPEndPoint? ParseListenOrOff(string key, string value) =>
        value.Trim().Equals("off", StringComparison.OrdinalIgnoreCase) ? null : ParseListen(key, value);

    private IPEndPoint? ParseListen(string key, string value)
    {
        if (SettingValues.TryParseListenAddress(value, out var endPoint, out var reason))
        {
            return endPoint;
        }

        Report(key, $"{SettingsErrorFormatter.Quote(value)} {reason}");
        return null;
    }

    private void CheckListenersDiffer(IPEndPoint? http, IPEndPoint? https, IPEndPoint? uplink, IPEndPoint? admin)
    {
        var listeners = new (string Key, IPEndPoint? EndPoint)[]
        {
            (SettingKeys.HttpListen, http), (SettingKeys.HttpsListen, https), (SettingKeys.UplinkListen, uplink), (SettingKeys.AdminListen, admin),
        };
        for (var i = 0; i < listeners.Length; i++)
        {
            for (var j = 0; j < i; j++)
            {
                if (listeners[i].EndPoint is { Port: not 0 } endPoint && endPoint.Equals(listeners[j].EndPoint))
                {
                    Report(listeners[i].Key, $"{endPoint} is already used by {ProxyEntryOptions.SectionName}:{listeners[j].Key}.");
                }
            }
        }
    }

    private void CheckUplinkIsSafe(IPEndPoint? uplink, bool anonymous)
    {
        if (uplink is null)
        {
            return;
        }

        var isLoopback = IPAddress.IsLoopback(uplink.Address);
        if (!anonymous && _options.Agents.Count == 0)
        {
            if (isLoopback)
            {
                Report(
                    SettingKeys.AllowAnonymousAgents,
                    "is false and no agent has a token (Tunnel2:Agents:<id>:TokenHash): no agent could connect.");
            }
            else
            {
                Report(
                    SettingKeys.UplinkListen,
                    $"{uplink} can be reached from other machines and no agent has a token: anybody could publish a service here. "
                    + "Add Tunnel2:Agents:<id>:TokenHash (tunnel2-entry token create prints one) or set Tunnel2:AllowAnonymousAgents=true.");
            }
        }
    }

    private string? OwnUplinkCertificate => IsSelfMadeAsked ? null : _options.Uplink.Certificate;

    private bool IsSelfMadeAsked => IsSelfMade(_options.Uplink.Certificate);

    private static bool IsSelfMade(string? certificate) => string.Equals(certificate?.Trim(), "self-made", StringComparison.OrdinalIgnoreCase);

    /// <summary>Off loopback there is TLS unless plaintext is asked for, so nobody has to make a certificate to be safe.</summary>
    private UplinkSecurity ChooseUplinkSecurity(IPEndPoint? uplink) =>
        OwnUplinkCertificate is not null ? UplinkSecurity.Certificate
        : IsSelfMadeAsked ? UplinkSecurity.SelfMade
        : _options.Uplink.AllowPlaintext || uplink is null || IPAddress.IsLoopback(uplink.Address) ? UplinkSecurity.Plaintext
        : UplinkSecurity.SelfMade;

    private string? CheckClientCa(UplinkSecurity security)
    {
        if (_options.Uplink.ClientCa?.Trim() is not { } path)
        {
            if (_options.Agents.Values.Any(static agent => agent.CertificateName is not null))
            {
                Report(SettingKeys.UplinkClientCa, "is missing, but an agent has a CertificateName: somebody must have issued it.");
            }

            return null;
        }

        if (security == UplinkSecurity.Plaintext)
        {
            Report(SettingKeys.UplinkClientCa, "needs TLS on the uplink; set Tunnel2:Uplink:Certificate (a path, or self-made).");
        }

        if (!ClientAuthorities.TryLoad(path, out _, out var problem))
        {
            Report(SettingKeys.UplinkClientCa, $"{SettingsErrorFormatter.Quote(path)} cannot be used: {problem}");
        }

        return path;
    }

    private void CheckAdminIsSafe(IPEndPoint? admin)
    {
        if (_options.Admin.Token is { } token && token.AsSpan().IndexOfAnyExceptInRange('!', '~') >= 0)
        {
            Report(SettingKeys.AdminToken, "may have visible ASCII characters only, since it travels in a header.");
        }

        if (admin is not null && !IPAddress.IsLoopback(admin.Address)
            && string.IsNullOrEmpty(_options.Admin.Token) && !HasError(SettingKeys.AdminToken))
        {
            Report(
                SettingKeys.AdminListen,
                $"{admin} can be reached from other machines without a token: anybody could read metrics and use the API. "
                + "Set Tunnel2:Admin:Token or listen on 127.0.0.1.");
        }
    }

    private string CheckDomain()
    {
        var domain = _options.Domain.Trim().ToLowerInvariant();
        if (domain.EndsWith('.'))
        {
            domain = domain[..^1];
        }

        // A name and an entry id are put in front: 63 characters and a dot of the 253 that DNS allows.
        if (domain.Length is 0 or > 189)
        {
            Report(SettingKeys.Domain, $"{SettingsErrorFormatter.Quote(_options.Domain)} is not a domain of 1 to 189 characters.");
            return domain;
        }

        var labels = domain.Split('.');
        if (domain.Contains(':') || labels[^1].AsSpan().IndexOfAnyExceptInRange('0', '9') < 0)
        {
            Report(
                SettingKeys.Domain,
                $"{SettingsErrorFormatter.Quote(_options.Domain)} has a port or is an IP address; a plain domain is needed, since names go in front of it.");
        }
        else if (labels.Any(label => !IsLabel(label, 63)))
        {
            Report(
                SettingKeys.Domain,
                $"{SettingsErrorFormatter.Quote(_options.Domain)} is not a domain: each part has 1 to 63 of [a-z0-9-], no hyphen at its ends (xn-- for others).");
        }

        return domain;
    }

    private string CheckEntryId()
    {
        var entryId = _options.EntryId.Trim().ToLowerInvariant();
        if (!IsLabel(entryId, MaxEntryIdLength))
        {
            Report(
                SettingKeys.EntryId,
                $"{SettingsErrorFormatter.Quote(_options.EntryId)} is not 1 to {MaxEntryIdLength} characters of [a-z0-9-] without a hyphen at its ends.");
        }

        return entryId;
    }

    private CertificateSource? CheckCertificate(string key, string? path, string? keyPath, string? password)
    {
        if (path is null)
        {
            if (keyPath is not null || password is not null)
            {
                var isSelfMade = IsSelfMade(key == SettingKeys.UplinkCertificate ? _options.Uplink.Certificate : _options.Public.Certificate);
                Report(key, isSelfMade ? "is self-made and makes its own key, but a key or a password for it is set." : "is missing, but a key or a password for it is set.");
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
            Report(key, $"{SettingsErrorFormatter.Quote(path)} cannot be used: {e.Message.ReplaceLineEndings(" ")}");
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

    private ImmutableArray<IPNetwork> CheckTrustedProxies()
    {
        var networks = ImmutableArray.CreateBuilder<IPNetwork>(_options.TrustedProxies.Count);
        foreach (var value in _options.TrustedProxies)
        {
            if (SettingValues.TryParseNetwork(value, out var network, out var reason))
            {
                networks.Add(network);
            }
            else
            {
                Report(SettingKeys.TrustedProxies, $"{SettingsErrorFormatter.Quote(value)} {reason}");
            }
        }

        return networks.ToImmutable();
    }

    private IPEndPoint? CheckLive()
    {
        if (_options.Ring.Slots is < 64 or > 1 << 24 || !int.IsPow2(_options.Ring.Slots))
        {
            Report(SettingKeys.RingSlots, "is not a power of two from 64 to 16777216.");
        }

        CheckCount(SettingKeys.HubConnectionsPerAddress, _options.Hub.ConnectionsPerAddress);
        var relay = ParseListenOrOff(SettingKeys.RelayListen, _options.Relay.Listen);
        if (relay is not null && !IPAddress.IsLoopback(relay.Address) && !_options.Relay.AllowRemote)
        {
            Report(
                SettingKeys.RelayListen,
                $"{relay} can be reached from other machines, and the relay shows every request to whoever connects. Set Tunnel2:Relay:AllowRemote=true if the network is private.");
        }

        return relay;
    }

    private void CheckRange(string key, TimeSpan value, TimeSpan longest, bool mayBeOff)
    {
        if (value == Timeout.InfiniteTimeSpan)
        {
            if (!mayBeOff)
            {
                Report(key, "cannot be off.");
            }
        }
        else if (value < _shortestTimeout || value > longest)
        {
            Report(key, string.Create(CultureInfo.InvariantCulture, $"{value} is not between 10ms and {longest.TotalMinutes:0}m{(mayBeOff ? " (or off)" : "")}."));
        }
    }

    private static TimeSpan OffIsZero(TimeSpan value) => value == Timeout.InfiniteTimeSpan ? TimeSpan.Zero : value;

    private static bool IsLabel(string text, int maxLength) =>
        text.Length > 0 && text.Length <= maxLength && text[0] != '-' && text[^1] != '-'
        && !text.AsSpan().ContainsAnyExcept(_nameCharacters);

    private bool HasError(string key) => _errors.Exists(error => error.Key == $"{ProxyEntryOptions.SectionName}:{key}");

    private void Report(string key, string message) => _errors.Add(new SettingsError($"{ProxyEntryOptions.SectionName}:{key}", message));
}
