import java.util.List;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Asks a node over JMX which nodes hold keys: "java Endpoints.java PORT KEYSPACE TABLE KEYS [SUFFIX]" prints a line for each
 * key from 0 to KEYS - 1, followed by SUFFIX where there is one: the endpoints, with commas.
 */
public class Endpoints {
    public static void main(String[] args) throws Exception {
        String url = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + args[0] + "/jmxrmi";
        String[] signature = {"java.lang.String", "java.lang.String", "java.lang.String"};
        String suffix = args.length > 4 ? args[4] : "";
        StringBuilder out = new StringBuilder();
        try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(url))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            ObjectName service = new ObjectName("org.apache.cassandra.db:type=StorageService");
            for (int key = 0; key < Integer.parseInt(args[3]); key++) {
                Object[] what = {args[1], args[2], key + suffix};
                List<?> endpoints = (List<?>) server.invoke(service, "getNaturalEndpointsWithPort", what, signature);
                for (int i = 0; i < endpoints.size(); i++) {
                    out.append(i == 0 ? "" : ",").append(endpoints.get(i));
                }
                out.append('\n');
            }
        }
        System.out.print(out);
    }
}
