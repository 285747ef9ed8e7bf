using System.Net;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// The events of ProxyEntry: 2000–2099 routing and agents, 2100–2199 forwarding, 2200–2299 admin and process. Ids never change. A visitor's
/// fault is Debug, ours is Warning. No secret, header or body is ever logged.
/// </summary>
internal static partial class ProxyEntryLog
{
    [LoggerMessage(
        2000, LogLevel.Information,
        "Agent {AgentId} connected from {RemoteEndPoint}: {PublicName} is public (session {SessionId}, agent {AgentVersion})")]
    public static partial void AgentConnected(
        ILogger logger, string agentId, string remoteEndPoint, string publicName, string sessionId, string agentVersion);

    [LoggerMessage(
        2001, LogLevel.Information,
        "Agent {AgentId} disconnected: {PublicName} is offline after {Duration} ({Reason}, session {SessionId})")]
    public static partial void AgentDisconnected(
        ILogger logger, string agentId, string publicName, TimeSpan duration, string reason, string sessionId);

    [LoggerMessage(2002, LogLevel.Warning, "Agent from {RemoteEndPoint} rejected: {Reason} ({Detail})")]
    public static partial void AgentRejected(ILogger logger, string remoteEndPoint, string reason, string detail);

    [LoggerMessage(
        2003, LogLevel.Information, "Session {OldSessionId} of {PublicName} superseded by session {NewSessionId} of the same agent")]
    public static partial void SessionSuperseded(ILogger logger, string publicName, string oldSessionId, string newSessionId);

    [LoggerMessage(2004, LogLevel.Debug, "Uplink {UplinkIndex} of session {SessionId} joined from {RemoteEndPoint}")]
    public static partial void UplinkJoined(ILogger logger, int uplinkIndex, string sessionId, string remoteEndPoint);

    [LoggerMessage(2005, LogLevel.Debug, "Uplink connection from {RemoteEndPoint} ended before its handshake: {Reason}")]
    public static partial void HandshakeFailed(ILogger logger, string remoteEndPoint, string reason);

    [LoggerMessage(2007, LogLevel.Warning, "Accepting a connection failed: {Reason}. The listener tries again by itself")]
    public static partial void AcceptFailed(ILogger logger, string reason);

    [LoggerMessage(2008, LogLevel.Error, "An agent's connection failed by a fault of ProxyEntry")]
    public static partial void UplinkFault(ILogger logger, Exception exception);

    [LoggerMessage(2009, LogLevel.Debug, "Uplink {UplinkIndex} of session {SessionId} left: {Reason}; the session continues")]
    public static partial void UplinkLeft(ILogger logger, int uplinkIndex, string sessionId, string reason);

    [LoggerMessage(2010, LogLevel.Debug, "A further uplink from {RemoteEndPoint} refused: {Reason} ({Detail})")]
    public static partial void JoinRefused(ILogger logger, string remoteEndPoint, string reason, string detail);

    [LoggerMessage(2020, LogLevel.Debug, "An uplink over WebSocket from {RemoteEndPoint} was not opened: {ErrorCode}")]
    public static partial void WebSocketUplinkRefused(ILogger logger, string remoteEndPoint, string errorCode);

    [LoggerMessage(2021, LogLevel.Warning, "The service of session {SessionId} of the pool {PublicName} does not work, its agent says")]
    public static partial void MemberUnhealthy(ILogger logger, string publicName, string sessionId);

    [LoggerMessage(2022, LogLevel.Information, "The service of session {SessionId} of the pool {PublicName} works, its agent says")]
    public static partial void MemberHealthy(ILogger logger, string publicName, string sessionId);

    [LoggerMessage(2050, LogLevel.Warning, "Uplink connection from {RemoteEndPoint} is plaintext, but this port speaks TLS")]
    public static partial void PlaintextOnTlsPort(ILogger logger, string remoteEndPoint);

    [LoggerMessage(2051, LogLevel.Warning, "Uplink connection from {RemoteEndPoint} starts with TLS, but this port speaks plaintext")]
    public static partial void TlsOnPlaintextPort(ILogger logger, string remoteEndPoint);

    [LoggerMessage(
        2052, LogLevel.Warning,
        "Session {SessionId} of {PublicName} ended: agent {AgentId} lost its token, certificate or right to the name")]
    public static partial void SessionRevoked(ILogger logger, string agentId, string publicName, string sessionId);

    [LoggerMessage(2100, LogLevel.Warning, "Request {RequestId} for {PublicName} failed at the {Leg}: {ErrorCode}")]
    public static partial void RequestFailed(
        ILogger logger, string requestId, string publicName, string leg, string errorCode, Exception? exception);

    [LoggerMessage(2101, LogLevel.Debug, "Request {RequestId} for {PublicName} refused: {ErrorCode}")]
    public static partial void RequestRefused(ILogger logger, string requestId, string publicName, string errorCode);

    [LoggerMessage(2102, LogLevel.Debug, "Visitor left request {RequestId} for {PublicName}")]
    public static partial void VisitorAborted(ILogger logger, string requestId, string publicName);

    [LoggerMessage(
        2103, LogLevel.Warning,
        "Response of request {RequestId} for {PublicName} aborted at the {Leg} after {BytesSent} bytes: {ErrorCode}")]
    public static partial void ResponseAborted(
        ILogger logger, string requestId, string publicName, string leg, long bytesSent, string errorCode);

    [LoggerMessage(2104, LogLevel.Error, "Request {RequestId} failed by a fault of ProxyEntry")]
    public static partial void ForwarderFault(ILogger logger, string requestId, Exception exception);

    [LoggerMessage(2110, LogLevel.Error, "Visitor's connection {ConnectionId} failed by a fault of ProxyEntry")]
    public static partial void ConnectionFault(ILogger logger, string connectionId, Exception exception);

    [LoggerMessage(
        2111, LogLevel.Warning,
        "The HTTP/2 connection of {RemoteAddress} was ended with ENHANCE_YOUR_CALM: too many frames that carry nothing ({Reason})")]
    public static partial void Http2Flood(ILogger logger, IPAddress? remoteAddress, string reason);

    [LoggerMessage(
        2112, LogLevel.Warning,
        "A request of {RemoteAddress} over HTTP/2 was refused: large heads of running requests have as much memory as they may")]
    public static partial void Http2HeadRefused(ILogger logger, IPAddress? remoteAddress);

    [LoggerMessage(
        2115, LogLevel.Warning,
        "{Count} stalled transfers were cut: {Held} of {Limit} MiB were held for visitors that read nothing "
            + "(Limits:BufferMegabytes)")]
    public static partial void StalledTransfersCut(ILogger logger, int count, long held, long limit);

    [LoggerMessage(
        2120, LogLevel.Warning,
        "The access log cannot be written to {Sink}: {Reason}. Its lines are lost until it can; requests are not affected")]
    public static partial void AccessLogFailed(ILogger logger, string sink, string reason);

    [LoggerMessage(2121, LogLevel.Information, "The access log is written to {Sink} again; {Lines} lines were lost")]
    public static partial void AccessLogWorksAgain(ILogger logger, string sink, long lines);

    [LoggerMessage(2200, LogLevel.Information, "Listening for visitors on {EndPoint}")]
    public static partial void ListeningForVisitors(ILogger logger, string endPoint);

    [LoggerMessage(2201, LogLevel.Information, "Listening for agents on {EndPoint} ({Security})")]
    public static partial void ListeningForAgents(ILogger logger, EndPoint endPoint, string security);

    [LoggerMessage(2202, LogLevel.Information, "Listening for administration on {EndPoint}")]
    public static partial void ListeningForAdmin(ILogger logger, EndPoint endPoint);

    [LoggerMessage(2222, LogLevel.Information, "Dashboard: {Url}")]
    public static partial void DashboardAt(ILogger logger, string url);

    [LoggerMessage(
        2223, LogLevel.Warning, "No agent can connect until there is a token: 'tunnel2-entry token create --keep --name NAME' makes one")]
    public static partial void NoAgentCanConnect(ILogger logger);

    [LoggerMessage(
        2224, LogLevel.Information,
        "SIGHUP changes nothing: files of settings and certificates are read again when they change. SIGTERM stops the server")]
    public static partial void HangUp(ILogger logger);

    [LoggerMessage(2203, LogLevel.Information, "Ready: tunnels appear as {Example}")]
    public static partial void Ready(ILogger logger, string example);

    [LoggerMessage(2204, LogLevel.Information, "Draining: {Sessions} sessions and {Streams} streams are left")]
    public static partial void Draining(ILogger logger, int sessions, long streams);

    [LoggerMessage(2205, LogLevel.Information, "Stopped")]
    public static partial void Stopped(ILogger logger);

    [LoggerMessage(2207, LogLevel.Warning, "Admin request from {RemoteAddress} refused: {Reason}")]
    public static partial void AdminRefused(ILogger logger, IPAddress? remoteAddress, string reason);

    [LoggerMessage(2208, LogLevel.Warning, "Test mode is on: any agent may choose its session id, and all of them share one origin")]
    public static partial void TestModeIsOn(ILogger logger);

    [LoggerMessage(2209, LogLevel.Warning, "The time to finish is over: {Connections} connections of visitors are cut")]
    public static partial void GraceOver(ILogger logger, int connections);

    [LoggerMessage(
        2210, LogLevel.Information, "Listening sockets of {Holder} are used: {Names}. Connections wait in them during a restart")]
    public static partial void SocketsInherited(ILogger logger, string holder, string names);

    [LoggerMessage(2211, LogLevel.Information, "Engine {Engine}, event loops: {Loops}, processors: {Processors}")]
    public static partial void EngineRuns(ILogger logger, string engine, int loops, int processors);

    [LoggerMessage(2215, LogLevel.Error, "A fault of ProxyEntry was contained at: {Place} ({Count} since the last line)")]
    public static partial void FaultContained(ILogger logger, string place, long count, Exception exception);

    [LoggerMessage(
        2216, LogLevel.Warning,
        "This process may have only {Limit} files open: {Visitors} connections of visitors at once ({PerAddress} of one address), "
            + "{Agents} of agents. Raise the limit for more (ulimit -n, LimitNOFILE)")]
    public static partial void FewFiles(ILogger logger, int limit, int visitors, int perAddress, int agents);

    [LoggerMessage(
        2217, LogLevel.Warning, "Settings were reduced to fit into the {Limit} files that this process may have open: {Settings}")]
    public static partial void LimitsReduced(ILogger logger, string settings, int limit);

    [LoggerMessage(2212, LogLevel.Warning, "All {Most} connections ({Kind}) are in use; new ones wait until one ends")]
    public static partial void LimitReached(ILogger logger, string kind, int most);

    [LoggerMessage(2213, LogLevel.Warning, "{RemoteAddress} has {Most} connections ({Kind}), which is its limit; further ones are closed")]
    public static partial void AddressLimitReached(ILogger logger, string kind, IPAddress remoteAddress, int most);

    [LoggerMessage(2214, LogLevel.Information, "{Ended} connections ({Kind}) were ended to make room")]
    public static partial void PlacesTaken(ILogger logger, string kind, int ended);

    [LoggerMessage(
        2218, LogLevel.Error,
        "Event loop {Loop} hangs: no sign of life for {Seconds} s. Its {Connections} connections are reset, the other loops continue")]
    public static partial void LoopHangs(ILogger logger, int loop, int connections, double seconds);

    [LoggerMessage(2219, LogLevel.Warning, "Event loop {Loop} is back and serves again")]
    public static partial void LoopIsBack(ILogger logger, int loop);

    [LoggerMessage(
        2220, LogLevel.Error, "Event loop {Loop} has died: its connections are lost, the other loops continue. Restart the process")]
    public static partial void LoopDied(ILogger logger, int loop, Exception exception);

    [LoggerMessage(
        2221, LogLevel.Error,
        "The holder of the listening sockets has ended ({Holder}): this process ends too, and takes new ones when it is started again")]
    public static partial void HolderEnded(ILogger logger, string holder);

    [LoggerMessage(2230, LogLevel.Information, "An administrator at {RemoteAddress} ({Credential}) {Action} {Target}")]
    public static partial void AdminChange(ILogger logger, string? remoteAddress, string credential, string action, string target);

    [LoggerMessage(2231, LogLevel.Warning, "Token {Token} of agent {AgentId} has expired")]
    public static partial void TokenExpired(ILogger logger, string token, string agentId);

    [LoggerMessage(2232, LogLevel.Error, "The token in {Path} is not used: {Reason}")]
    public static partial void TokenRefused(ILogger logger, string path, string reason);

    [LoggerMessage(2233, LogLevel.Information, "{Count} tokens are kept in {Path}; {Ended} sessions were ended")]
    public static partial void TokensRead(ILogger logger, int count, string path, int ended);

    [LoggerMessage(2234, LogLevel.Error, "When the tokens in {Path} were used last cannot be kept: {Reason}")]
    public static partial void TokenUsesNotKept(ILogger logger, string path, string reason);

    [LoggerMessage(2235, LogLevel.Error, "The policy of {Target} cannot be used, so requests are refused: {Reason}")]
    public static partial void PolicyRefused(ILogger logger, string target, string reason);

    [LoggerMessage(2236, LogLevel.Information, "{Count} policies are kept in {Path}")]
    public static partial void PoliciesRead(ILogger logger, int count, string path);

    [LoggerMessage(2237, LogLevel.Error, "The policies in {Path} cannot be read, so those from before stay in force: {Reason}")]
    public static partial void PoliciesNotRead(ILogger logger, string path, string reason);

    [LoggerMessage(
        2240, LogLevel.Information,
        "An administrator at {RemoteAddress} inspects session {PublicName} for {Minutes} {Unit}, until {Until}")]
    public static partial void InspectionBegun(
        ILogger logger, string? remoteAddress, string publicName, int minutes, string unit, string until);

    [LoggerMessage(2241, LogLevel.Information, "The inspection of session {PublicName} has ended after {Seconds} s: {Reason}")]
    public static partial void InspectionEnded(ILogger logger, string publicName, long seconds, string reason);

    [LoggerMessage(
        2242, LogLevel.Information, "An administrator at {RemoteAddress} sends exchange {Exchange} of session {PublicName} again, {Form}")]
    public static partial void ReplaySent(ILogger logger, string? remoteAddress, long exchange, string publicName, string form);

    [LoggerMessage(
        2243, LogLevel.Information, "An administrator at {RemoteAddress} is shown secrets of session {PublicName}: {Shown}")]
    public static partial void SecretsShown(ILogger logger, string? remoteAddress, string publicName, string shown);

    [LoggerMessage(
        2244, LogLevel.Information,
        "The inspection of session {PublicName}, which began at another node, continues here for {Seconds} s: the session has come")]
    public static partial void InspectionFollows(ILogger logger, string publicName, long seconds);

    [LoggerMessage(2245, LogLevel.Warning, "The inspection of session {PublicName} is not shared with the other nodes now: {Reason}")]
    public static partial void InspectionNotShared(ILogger logger, string publicName, string reason);

    [LoggerMessage(2250, LogLevel.Information, "Made a certificate for the uplink in {Path}")]
    public static partial void CertificateMade(ILogger logger, string path);

    [LoggerMessage(
        2251, LogLevel.Information, "Uplink certificate {Subject} until {Until}; agents may pin it: --server-fingerprint {Fingerprint}")]
    public static partial void CertificateInUse(ILogger logger, string subject, string until, string fingerprint);

    [LoggerMessage(
        2252, LogLevel.Information,
        "Uplink certificate read again from {Path}: {Subject}, --server-fingerprint {Fingerprint}, until {Until}")]
    public static partial void CertificateReloaded(ILogger logger, string path, string subject, string fingerprint, string until);

    [LoggerMessage(2253, LogLevel.Error, "The changed certificate in {Path} cannot be used, the previous one stays in use: {Reason}")]
    public static partial void CertificateNotReloaded(ILogger logger, string path, string reason);

    [LoggerMessage(
        2254, LogLevel.Warning, "The certificate in {Path} is not valid now (it ends {Until}): agents that check it will refuse it")]
    public static partial void CertificateNotValidNow(ILogger logger, string path, string until);

    [LoggerMessage(2255, LogLevel.Information, "Settings read again: {Agents} agents may connect, {Ended} sessions were ended")]
    public static partial void AgentsReloaded(ILogger logger, int agents, int ended);

    [LoggerMessage(2256, LogLevel.Error, "The changed settings have a mistake, the previous ones stay in force: {Key}: {Reason}")]
    public static partial void SettingsNotReloaded(ILogger logger, string key, string reason);

    [LoggerMessage(2257, LogLevel.Warning, "{Key} has changed and takes effect with the next start")]
    public static partial void SettingNeedsRestart(ILogger logger, string key);

    [LoggerMessage(
        2258, LogLevel.Information,
        "Relay certificate read again from {Path}: {Subject}, --server-fingerprint {Fingerprint}, until {Until}")]
    public static partial void RelayCertificateReloaded(ILogger logger, string path, string subject, string fingerprint, string until);

    [LoggerMessage(2260, LogLevel.Information, "HTTPS certificate read again from {Path}: {Subject}, until {Until}")]
    public static partial void PublicCertificateReloaded(ILogger logger, string path, string subject, string until);

    [LoggerMessage(2261, LogLevel.Warning, "The HTTPS certificate in {Path} is not valid now (it ends {Until}): visitors will refuse it")]
    public static partial void PublicCertificateNotValidNow(ILogger logger, string path, string until);

    [LoggerMessage(
        2262, LogLevel.Information,
        "HTTPS for trials: certificates of names below {Domain} come from an authority of this server's own. To trust it: curl --cacert "
            + "{Path}, or import that file in the browser as an authority")]
    public static partial void AuthorityInUse(ILogger logger, string domain, string path);

    [LoggerMessage(2263, LogLevel.Warning, "{Kind} port {Port} of a tunnel cannot be opened: {Error}")]
    public static partial void PortNotOpened(ILogger logger, Protocol.Handshake.SessionKind kind, int port, string error);

    [LoggerMessage(
        2264, LogLevel.Warning, "A connection from {Address}, a trusted proxy, was closed: it did not begin with a PROXY protocol header")]
    public static partial void BalancerHeaderMissing(ILogger logger, System.Net.IPAddress? address);

    [LoggerMessage(2265, LogLevel.Information, "Listening for visitors of TLS by name on {EndPoint}")]
    public static partial void ListeningForTls(ILogger logger, System.Net.IPEndPoint endPoint);

    [LoggerMessage(2266, LogLevel.Information, "HTTPS certificate read from {Path}: {Names}, until {Until}")]
    public static partial void FolderCertificateInUse(ILogger logger, string path, string names, string until);

    [LoggerMessage(2267, LogLevel.Error, "The certificate in {Path} cannot be used: {Reason}")]
    public static partial void FolderCertificateRefused(ILogger logger, string path, string reason);

    [LoggerMessage(2268, LogLevel.Information, "The certificate in {Path} is gone, and not used any more")]
    public static partial void FolderCertificateGone(ILogger logger, string path);

    [LoggerMessage(2269, LogLevel.Error, "The folder of certificates, {Path}: {Reason}")]
    public static partial void CertificateFolderProblem(ILogger logger, string path, string reason);

    [LoggerMessage(2270, LogLevel.Information, "Certificates come from {Authority}; {Count} are kept in {Path}")]
    public static partial void AutomaticCertificates(ILogger logger, string authority, int count, string path);

    [LoggerMessage(2271, LogLevel.Information, "Certificate for {Name} issued by {Authority}, until {Until}")]
    public static partial void CertificateObtained(ILogger logger, string name, string authority, string until);

    [LoggerMessage(2272, LogLevel.Warning, "No certificate for {Name}: {Reason}. The next try is in {Seconds} s")]
    public static partial void CertificateNotObtained(ILogger logger, string name, string reason, long seconds);

    [LoggerMessage(
        2273, LogLevel.Warning,
        "No certificate for {Name} now: {Orders} were ordered within an hour, and {Count} are kept (Acme:PerHour, Acme:MaxCertificates)")]
    public static partial void CertificateLimit(ILogger logger, string name, int orders, int count);

    [LoggerMessage(2274, LogLevel.Error, "Automatic certificates cannot be kept in {Path}: {Reason}")]
    public static partial void CertificateNotKept(ILogger logger, string path, string reason);

    [LoggerMessage(2275, LogLevel.Debug, "The authority does not say when to renew the certificate for {Name}: {Reason}")]
    public static partial void NoRenewalInformation(ILogger logger, string name, string reason);

    [LoggerMessage(2276, LogLevel.Error, "Automatic certificates failed by a fault of their own for {Name}, and continue")]
    public static partial void AutomaticCertificatesFault(ILogger logger, string name, Exception exception);

    [LoggerMessage(2277, LogLevel.Information, "The node's certificate was read again from {Path}: {Subject}, until {Until}")]
    public static partial void NodeCertificateReloaded(ILogger logger, string path, string subject, string until);

    [LoggerMessage(
        2278, LogLevel.Warning,
        "This node keeps its automatic certificates to itself: it has no secret of the cluster (Cluster:Secret)")]
    public static partial void CertificatesNotShared(ILogger logger);

    [LoggerMessage(2279, LogLevel.Error, "What the cluster shares about certificates ({Key}) is not used: {Reason}")]
    public static partial void SharedCertificateRefused(ILogger logger, string key, string reason);

    [LoggerMessage(2280, LogLevel.Information, "Certificate for {Name} of another node of the cluster, until {Until}")]
    public static partial void CertificateOfOtherNode(ILogger logger, string name, string until);

    [LoggerMessage(2281, LogLevel.Warning, "The order of a certificate for {Name} was given up: {Reason}")]
    public static partial void CertificateOrderGivenUp(ILogger logger, string name, string reason);

    [LoggerMessage(2290, LogLevel.Warning, "{Lines} lines like this one in {Seconds} s, {Shown} of them shown: {Line}")]
    public static partial void LinesSummed(ILogger logger, long lines, double seconds, int shown, string line);
}
